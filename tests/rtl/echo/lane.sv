// In place of the lane, for tests of what is around it: each byte comes back raw, CLOSE or NOTHING at a text's end.
//
//   text  -->  queue  -->  words       a byte per cycle, at most two words an item
//
// Tables are 64 entries each, so that what was loaded can be read back.

`default_nettype none

module lane #(
    parameter int ID_BITS     = 17,
    parameter int BANK_BITS   = 15,
    parameter int UNITS       = 12,
    parameter int SLOTS       = 16,
    parameter int WIDE_UNITS  = 2,
    parameter int WIDE_SLOTS  = 32,
    parameter int BRIDGE_BITS = 16,
    parameter int BYTES_LOG   = 11
) (
    input  wire         clk,
    input  wire         rst,
    output wire         idle,

    input  wire         text_valid,
    output wire         text_ready,
    input  wire  [7:0]  text_byte,
    input  wire         text_keep,
    input  wire         text_last,
    input  wire         text_mark,

    output wire         word_valid,
    input  wire         word_ready,
    output logic [27:0] word_data,

    input  wire         table_write,
    input  wire         table_read,
    input  wire  [3:0]  table_select,
    input  wire  [19:0] table_address,
    input  wire  [39:0] table_data,
    output wire  [39:0] table_answer,

    output wire         count_byte,
    output wire         count_piece,
    output wire         count_bad,
    output wire         count_id,
    output wire         count_raw,
    output wire  [1:0]  count_lookup
);

    localparam logic [2:0] BYTE = 1, CLOSE = 3, NOTHING = 4, MARK = 7;

    wire         item_valid;
    wire  [10:0] item;
    wire         keep = item[8], last = item[9], mark = item[10];
    logic        open, half;          // A text is open; the byte of an item that also ends the text has gone.
    wire  [5:0]  level;
    wire         item_ready = word_ready && (!keep || !last || half);

    fifo #(.WIDTH(11), .DEPTH_LOG(5)) items (
        .clk, .rst,
        .in_valid(text_valid), .in_ready(text_ready), .in_data({text_mark, text_last, text_keep, text_byte}),
        .out_valid(item_valid), .out_ready(item_ready), .out_data(item), .level
    );

    assign word_valid = item_valid;
    always_comb begin
        if (mark)               word_data = {1'b0, MARK, 24'd0};
        else if (keep && !half) word_data = {1'b0, BYTE, 16'd0, item[7:0]};
        else if (open)        word_data = {1'b1, CLOSE, 24'd0};
        else                    word_data = {1'b1, NOTHING, 24'd0};
    end

    always_ff @(posedge clk) begin
        if (word_valid && word_ready) begin
            half <= keep && last && !half;
            if (!mark) open <= !word_data[27];
        end
        if (rst) begin
            half   <= 1'b0;
            open <= 1'b0;
        end
    end

    assign idle = level == '0;

    // Tables: what is read is there after four cycles, and zero at other times.
    logic [39:0] entries [0:1023];
    logic [39:0] answers [0:3];
    assign table_answer = answers[3];
    always_ff @(posedge clk) begin
        if (table_write) entries[{table_select, table_address[5:0]}] <= table_data;
        answers[0] <= table_read ? entries[{table_select, table_address[5:0]}] : '0;
        for (int i = 1; i < 4; i++) answers[i] <= answers[i - 1];
    end

    assign count_byte   = text_valid && text_ready && text_keep;
    assign count_piece  = word_valid && word_ready && word_data[26:24] == CLOSE;
    assign count_raw    = word_valid && word_ready && word_data[26:24] == BYTE;
    assign count_bad    = count_raw && word_data[7:0] == 8'hFF;
    assign count_id     = 1'b0;
    assign count_lookup = {2{count_raw}};

endmodule

`default_nettype wire
