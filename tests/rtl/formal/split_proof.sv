// What `split` offers stays until it is taken, bytes and records, whatever comes in and whatever its table holds.

`default_nettype none

module split_proof (
    input wire        clk,
    input wire        rst,
    input wire        item_valid, item_first, item_cut,
    input wire [1:0]  item_kind, item_more,
    input wire [7:0]  item_byte,
    input wire [4:0]  item_class,
    input wire        byte_ready, record_ready,
    input wire        table_write, table_read,
    input wire [3:0]  table_select,
    input wire [19:0] table_address,
    input wire [39:0] table_data
);

    wire        item_ready, idle, count_piece;
    wire        byte_valid, byte_cut, record_valid, record_last;
    wire [7:0]  byte_data;
    wire [2:0]  record_kind;
    wire [23:0] record_payload;
    wire [39:0] table_answer;

    split #(.BYTES_LOG(7)) dut (.*);

    stays #(.WIDTH(9)) bytes (.clk, .rst, .valid(byte_valid), .ready(byte_ready), .data({byte_data, byte_cut}));
    stays #(.WIDTH(28)) records (
        .clk, .rst, .valid(record_valid), .ready(record_ready), .data({record_kind, record_payload, record_last})
    );

    always_ff @(posedge clk) assume (!(table_write || table_read) || idle && !item_valid);

endmodule

`default_nettype wire
