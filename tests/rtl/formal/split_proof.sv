// The environment of `split`: offered bytes and records stay until taken, for any input and any
// table.

`default_nettype none

module split_proof
    import zeton_pkg::*;
(
    input wire        clk,
    input wire        rst,
    input wire        item_valid,
    input wire item_t item_data,
    input wire        byte_ready, record_ready,
    input wire table_request_t table_request
);

    wire       item_ready, idle, count_piece;
    wire       byte_valid, byte_cut, record_valid;
    wire [7:0] byte_data;
    wire record_t      record_data;
    wire table_entry_t table_response;

    split #(.BYTES_LOG(7)) dut (.*);

    stays #(.WIDTH(9)) bytes (.clk, .rst, .valid(byte_valid), .ready(byte_ready), .data({byte_data, byte_cut}));
    stays #(.WIDTH(28)) records (
        .clk, .rst, .valid(record_valid), .ready(record_ready), .data(record_data)
    );

    always_ff @(posedge clk) assume (!(table_request.write || table_request.read) || idle && !item_valid);

endmodule

`default_nettype wire
