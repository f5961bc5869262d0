// The environment of `classify`: an offered item stays until it is taken, for any input and any
// table.

`default_nettype none

module classify_proof
    import zeton_pkg::*;
(
    input wire        clk,
    input wire        rst,
    input wire        text_valid, item_ready,
    input wire text_t text_data,
    input wire table_request_t table_request
);

    wire item_valid, text_ready, idle, count_bad;
    wire item_t item_data;
    wire table_entry_t table_response;

    classify #(.BRIDGE_BITS(6)) dut (.*);

    stays #(.WIDTH(19)) items (
        .clk, .rst, .valid(item_valid), .ready(item_ready),
        .data(item_data)
    );

    // Tables are accessed while idle.
    always_ff @(posedge clk) assume (!(table_request.write || table_request.read) || idle && !text_valid);

endmodule

`default_nettype wire
