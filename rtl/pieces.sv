// The pre-tokenizer: text → characters → pieces → parts, with FIFOs between the steps.
//
//   text --> classify --> split --> FIFOs --> parts --> FIFOs --> bytes, records
//                                                                 one byte per cycle
//
// The output is two streams in the same order: bytes, and records that give them lengths and kinds.
// For example, the text "the the" leaves as 7 bytes and the records {MERGE, 3}, {last, MERGE, 4}.
//
// Invariant: the bytes of a record arrive whether or not records are taken, because `split` ends a
// piece before 2^BYTES_LOG bytes wait for its record. Specification: `split` in
// python/zeton/reference.py. Test: tests/rtl/test_pieces.py, against the engine's split.
// Tables 0, 1, 2, 3 and 5 are written while idle.

`default_nettype none

module pieces
    import zeton_pkg::*;
#(
    parameter int BYTES_LOG   = 11,  // 2^BYTES_LOG bytes wait for the end of their piece.
    parameter int BRIDGE_BITS = 16,  // The table of bridges has 2^BRIDGE_BITS bits.
    parameter int PART_MAX    = 32   // Bytes that the widest merge unit takes, at most 64.
) (
    input  wire        clk,
    input  wire        rst,
    output wire        idle,

    input  wire        text_valid,
    output wire        text_ready,
    input  wire text_t text_data,

    // Out: bytes, and records of parts. One record of each text is its last.
    output wire        byte_valid,
    input  wire        byte_ready,
    output wire  [7:0] byte_data,
    output wire        record_valid,
    input  wire        record_ready,
    output wire record_t record_data,

    // Response latency: 5 cycles.
    input  wire table_request_t table_request,
    output table_entry_t table_response,

    output logic       count_byte,
    output wire        count_piece,
    output wire        count_bad
);

    localparam int RECORDS_LOG = 9;  // The depth of a block RAM of 36 bits.
    localparam int PARTS_LOG   = 9;

    // ---- Texts to characters.

    wire          item_valid, item_ready;
    wire item_t        item_data;
    wire table_entry_t classify_response;
    wire          classify_idle;

    classify #(.BRIDGE_BITS(BRIDGE_BITS)) classify_bytes (
        .clk, .rst, .idle(classify_idle),
        .text_valid, .text_ready, .text_data,
        .item_valid, .item_ready, .item_data,
        .table_request, .table_response(classify_response),
        .count_bad
    );

    // ---- Characters to pieces.

    wire          split_byte_valid, split_byte_ready, split_byte_cut;
    wire [7:0]    split_byte_data;
    wire          split_record_valid, split_record_ready;
    wire record_t      split_record_data;
    wire table_entry_t split_response;
    wire          split_idle;

    split #(.BYTES_LOG(BYTES_LOG)) split_characters (
        .clk, .rst, .idle(split_idle),
        .item_valid, .item_ready, .item_data,
        .byte_valid(split_byte_valid), .byte_ready(split_byte_ready),
        .byte_data(split_byte_data), .byte_cut(split_byte_cut),
        .record_valid(split_record_valid), .record_ready(split_record_ready), .record_data(split_record_data),
        .table_request, .table_response(split_response),
        .count_piece
    );

    wire                 piece_byte_valid, piece_byte_ready, piece_byte_cut;
    wire [7:0]           piece_byte_data;
    wire                 piece_valid, piece_ready;
    wire record_t             piece_data;
    wire [BYTES_LOG:0]   piece_bytes_occupancy;
    wire [RECORDS_LOG:0] pieces_occupancy;

    fifo #(.WIDTH(9), .DEPTH_LOG(BYTES_LOG)) bytes_of_pieces (
        .clk, .rst,
        .in_valid(split_byte_valid), .in_ready(split_byte_ready), .in_data({split_byte_cut, split_byte_data}),
        .out_valid(piece_byte_valid), .out_ready(piece_byte_ready), .out_data({piece_byte_cut, piece_byte_data}),
        .occupancy(piece_bytes_occupancy)
    );
    fifo #(.WIDTH(RECORD_BITS), .DEPTH_LOG(RECORDS_LOG)) records_of_pieces (
        .clk, .rst,
        .in_valid(split_record_valid), .in_ready(split_record_ready), .in_data(split_record_data),
        .out_valid(piece_valid), .out_ready(piece_ready), .out_data(piece_data),
        .occupancy(pieces_occupancy)
    );

    // ---- Pieces to parts.

    wire               part_byte_valid, part_byte_ready;
    wire [7:0]         part_byte_data;
    wire               part_valid, part_ready;
    wire record_t           part_data;
    wire               parts_idle;
    wire [PARTS_LOG:0] part_bytes_occupancy, parts_occupancy;

    parts #(.PART_MAX(PART_MAX)) parts_of_pieces (
        .clk, .rst, .idle(parts_idle),
        .byte_valid(piece_byte_valid), .byte_ready(piece_byte_ready),
        .byte_data(piece_byte_data), .byte_cut(piece_byte_cut),
        .record_valid(piece_valid), .record_ready(piece_ready), .record_data(piece_data),
        .part_byte_valid, .part_byte_ready, .part_byte_data,
        .part_valid, .part_ready, .part_data
    );

    fifo #(.WIDTH(8), .DEPTH_LOG(PARTS_LOG)) bytes_of_parts (
        .clk, .rst,
        .in_valid(part_byte_valid), .in_ready(part_byte_ready), .in_data(part_byte_data),
        .out_valid(byte_valid), .out_ready(byte_ready), .out_data(byte_data),
        .occupancy(part_bytes_occupancy)
    );
    fifo #(.WIDTH(RECORD_BITS), .DEPTH_LOG(PARTS_LOG)) records_of_parts (
        .clk, .rst,
        .in_valid(part_valid), .in_ready(part_ready), .in_data(part_data),
        .out_valid(record_valid), .out_ready(record_ready), .out_data(record_data),
        .occupancy(parts_occupancy)
    );

    always_ff @(posedge clk) begin
        table_response <= classify_response | split_response;
        count_byte     <= text_valid && text_ready && text_data.keep;
        if (rst) count_byte <= 1'b0;
    end

    assign idle = classify_idle && split_idle && parts_idle
        && piece_bytes_occupancy == '0 && pieces_occupancy == '0
        && part_bytes_occupancy == '0 && parts_occupancy == '0;

endmodule

`default_nettype wire
