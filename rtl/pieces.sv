// From texts to parts of pieces: reads characters, splits, cuts parts, with queues between.
//
//   text  -->  classify  -->  split  -->  bytes, records  -->  parts  -->  bytes, records      one byte per cycle
//
// `split` in python/zeton/reference.py. What leaves: bytes, and records that say what they are, in the same order; the
// bytes of a record follow whether or not records are taken. Tables 0, 1, 2, 3 and 5, written while idle.

`default_nettype none

module pieces #(
    parameter int BYTES_LOG   = 11,  // 2^BYTES_LOG bytes wait for the end of their piece; longer pieces leave raw.
    parameter int BRIDGE_BITS = 16,  // The table of bridges has 2^BRIDGE_BITS bits.
    parameter int PART_MAX    = 32   // Bytes that the widest merge unit takes, at most 64.
) (
    input  wire         clk,
    input  wire         rst,
    output wire         idle,

    // In: a byte (`keep`), or none: an empty text or the end of one (`last`), or a mark between texts (`mark`).
    input  wire         text_valid,
    output wire         text_ready,
    input  wire  [7:0]  text_byte,
    input  wire         text_keep,
    input  wire         text_last,
    input  wire         text_mark,

    // Out: bytes, and 0 PART (its length), 1 RAW (so many bytes), 2 CUT (place in the raw stretch), 3 CLOSE (of the
    // stretch), 4 NOTHING (an empty text), 7 MARK. One record of each text is its last.
    output wire         byte_valid,
    input  wire         byte_ready,
    output wire  [7:0]  byte_data,
    output wire         record_valid,
    input  wire         record_ready,
    output wire  [2:0]  record_kind,
    output wire  [23:0] record_payload,
    output wire         record_last,

    // Tables: strobes of one cycle. The answer is there 5 cycles after `table_read`, and zero at other times.
    input  wire         table_write,
    input  wire         table_read,
    input  wire  [3:0]  table_select,
    input  wire  [19:0] table_address,
    input  wire  [39:0] table_data,
    output logic [39:0] table_answer,

    output logic        count_byte,
    output wire         count_piece,
    output wire         count_bad
);

    localparam int RECORD_BITS = 3 + 24 + 1;
    localparam int RECORDS_LOG = 9;  // As many as a block RAM of 36 bits holds.
    localparam int PARTS_LOG   = 9;

    // ---- Texts to characters.

    wire        item_valid, item_ready, item_first, item_cut;
    wire [1:0]  item_kind, item_more;
    wire [7:0]  item_byte;
    wire [4:0]  item_class;
    wire [39:0] classify_answer;
    wire        classify_idle;

    classify #(.BRIDGE_BITS(BRIDGE_BITS)) classify_bytes (
        .clk, .rst, .idle(classify_idle),
        .text_valid, .text_ready, .text_byte,
        .text_keep, .text_last, .text_mark,
        .item_valid, .item_ready, .item_kind, .item_byte,
        .item_first, .item_more, .item_class, .item_cut,
        .table_write, .table_read, .table_select,
        .table_address, .table_data, .table_answer(classify_answer),
        .count_bad
    );

    // ---- Characters to pieces.

    wire                   cut_byte_valid, cut_byte_ready, cut_byte_cut;
    wire [7:0]             cut_byte_data;
    wire                   cut_valid, cut_ready, cut_last;
    wire [2:0]             cut_kind;
    wire [23:0]            cut_payload;
    wire [39:0]            split_answer;
    wire                   split_idle;

    split #(.BYTES_LOG(BYTES_LOG)) split_characters (
        .clk, .rst, .idle(split_idle),
        .item_valid, .item_ready, .item_kind, .item_byte,
        .item_first, .item_more, .item_class, .item_cut,
        .byte_valid(cut_byte_valid), .byte_ready(cut_byte_ready), .byte_data(cut_byte_data), .byte_cut(cut_byte_cut),
        .record_valid(cut_valid), .record_ready(cut_ready), .record_kind(cut_kind),
        .record_payload(cut_payload), .record_last(cut_last),
        .table_write, .table_read, .table_select,
        .table_address, .table_data, .table_answer(split_answer),
        .count_piece
    );

    wire                   piece_byte_valid, piece_byte_ready, piece_byte_cut;
    wire [7:0]             piece_byte_data;
    wire                   piece_valid, piece_ready, piece_last;
    wire [2:0]             piece_kind;
    wire [23:0]            piece_payload;
    wire [BYTES_LOG:0]     bytes_level;
    wire [RECORDS_LOG:0]   records_level;

    fifo #(.WIDTH(9), .DEPTH_LOG(BYTES_LOG)) bytes_of_pieces (
        .clk, .rst,
        .in_valid(cut_byte_valid), .in_ready(cut_byte_ready), .in_data({cut_byte_cut, cut_byte_data}),
        .out_valid(piece_byte_valid), .out_ready(piece_byte_ready), .out_data({piece_byte_cut, piece_byte_data}),
        .level(bytes_level)
    );
    fifo #(.WIDTH(RECORD_BITS), .DEPTH_LOG(RECORDS_LOG)) records_of_pieces (
        .clk, .rst,
        .in_valid(cut_valid), .in_ready(cut_ready), .in_data({cut_last, cut_kind, cut_payload}),
        .out_valid(piece_valid), .out_ready(piece_ready), .out_data({piece_last, piece_kind, piece_payload}),
        .level(records_level)
    );

    // ---- Pieces to parts.

    wire                   part_byte_valid, part_byte_ready;
    wire [7:0]             part_byte_data;
    wire                   part_valid, part_ready, part_last;
    wire [2:0]             part_kind;
    wire [23:0]            part_payload;
    wire                   parts_idle;
    wire [PARTS_LOG:0]     part_bytes_level, parts_level;

    parts #(.PART_MAX(PART_MAX)) parts_of_pieces (
        .clk, .rst, .idle(parts_idle),
        .byte_valid(piece_byte_valid), .byte_ready(piece_byte_ready),
        .byte_data(piece_byte_data), .byte_cut(piece_byte_cut),
        .record_valid(piece_valid), .record_ready(piece_ready), .record_kind(piece_kind),
        .record_payload(piece_payload), .record_last(piece_last),
        .part_byte_valid, .part_byte_ready, .part_byte_data,
        .part_valid, .part_ready, .part_kind,
        .part_payload, .part_last
    );

    fifo #(.WIDTH(8), .DEPTH_LOG(PARTS_LOG)) bytes_of_parts (
        .clk, .rst,
        .in_valid(part_byte_valid), .in_ready(part_byte_ready), .in_data(part_byte_data),
        .out_valid(byte_valid), .out_ready(byte_ready), .out_data(byte_data),
        .level(part_bytes_level)
    );
    fifo #(.WIDTH(RECORD_BITS), .DEPTH_LOG(PARTS_LOG)) records_of_parts (
        .clk, .rst,
        .in_valid(part_valid), .in_ready(part_ready), .in_data({part_last, part_kind, part_payload}),
        .out_valid(record_valid), .out_ready(record_ready), .out_data({record_last, record_kind, record_payload}),
        .level(parts_level)
    );

    always_ff @(posedge clk) begin
        table_answer <= classify_answer | split_answer;
        count_byte   <= text_valid && text_ready && text_keep;
        if (rst) count_byte <= 1'b0;
    end

    assign idle = classify_idle && split_idle && parts_idle && bytes_level == '0 && records_level == '0
        && part_bytes_level == '0 && parts_level == '0;

endmodule

`default_nettype wire
