// What `classify` offers stays until it is taken, whatever comes in and whatever the tables hold.

`default_nettype none

module classify_proof (
    input wire        clk,
    input wire        rst,
    input wire        text_valid, text_keep, text_last, text_mark, item_ready,
    input wire [7:0]  text_byte,
    input wire        table_write, table_read,
    input wire [3:0]  table_select,
    input wire [19:0] table_address,
    input wire [39:0] table_data
);

    wire        item_valid, item_first, item_cut, text_ready, idle, count_bad;
    wire [1:0]  item_kind, item_more;
    wire [7:0]  item_byte;
    wire [4:0]  item_class;
    wire [39:0] table_answer;

    classify #(.BRIDGE_BITS(6)) dut (.*);

    stays #(.WIDTH(19)) items (
        .clk, .rst, .valid(item_valid), .ready(item_ready),
        .data({item_kind, item_byte, item_first, item_more, item_class, item_cut})
    );

    // Tables are touched while nothing is under way.
    always_ff @(posedge clk) assume (!(table_write || table_read) || idle && !text_valid);

endmodule

`default_nettype wire
