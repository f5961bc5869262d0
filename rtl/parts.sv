// The part cutter: divides pieces into parts that merge alone, and marks parts that are too long.
//
//   bytes    -->  count  -->  bytes        one byte per cycle, latency 1
//   records  -->         -->  records      one per cycle, no earlier than their last byte
//
// For example, with PART_MAX = 32:
//
//   in   {last, MERGE, 6}, bytes E4 B8 AD E6 96 87, byte_cut at AD: no token bridges the border
//   out  {MERGE, 3}, {last, MERGE, 3}
//
//   in   {last, MERGE, 40}, 40 bytes without byte_cut
//   out  {RAW, 32}, {RAW, 8}, {last, CLOSE}
//
// A part of more than PART_MAX bytes becomes RAW records and a CLOSE. Next to the CLOSE a byte may
// pass that ends no record. A stretch that `split` spilled passes as RAW records of up to 64 bytes.
//
// Invariant: bytes pass in order, and records name every byte once, never before it was offered.
// Proof: tests/rtl/formal/parts.sby, by induction. Test: tests/rtl/test_parts.py. Specification:
// the ids of a piece are those of its parts, `parts` of `Lane` in python/zeton/accel/reference.py
// and `for_each_part` in crates/zeton/src/merge/char_bridges.rs.

`default_nettype none

module parts
    import zeton_pkg::*;
#(
    parameter int PART_MAX = 32    // Bytes that the widest merge unit takes, at most 64.
) (
    input  wire        clk,
    input  wire        rst,
    output wire        idle,

    // In: bytes and records of `split`.
    input  wire        byte_valid,
    output wire        byte_ready,
    input  wire  [7:0] byte_data,
    input  wire        byte_cut,
    input  wire        record_valid,
    output wire        record_ready,
    input  wire  record_t record_data,

    // Out: the same bytes, and records of parts.
    output logic       part_byte_valid,
    input  wire        part_byte_ready,
    output logic [7:0] part_byte_data,
    output logic       part_valid,
    input  wire        part_ready,
    output record_t    part_data
);

    localparam int RAW_MAX = 64;     // A ticket's length has 7 bits.

    // The record whose bytes pass. Its payload counts down the bytes to come.
    logic        valid;
    record_t     current;
    logic        one_left;

    logic [6:0]  byte_count;         // Bytes since the last record out.
    logic        is_long;            // The part exceeds PART_MAX; RAW records of it have left.
    logic        close_pending;      // Its CLOSE is due,
    logic        close_last;         // and ends the text.

    wire [6:0] count_next = byte_count + 7'd1;
    wire part_end = one_left || byte_cut && current.kind == RECORD_MERGE;
    wire full     = count_next == (is_long || current.kind == RECORD_RAW ? 7'(RAW_MAX) : 7'(PART_MAX));

    wire out_free    = (!part_byte_valid || part_byte_ready) && (!part_valid || part_ready);
    wire has_bytes   = valid && (current.kind == RECORD_MERGE || current.kind == RECORD_RAW);
    wire pop_byte    = byte_valid && byte_ready;
    wire pass_record = valid && !has_bytes && out_free && !close_pending;
    assign byte_ready   = has_bytes && out_free && (!close_pending || !part_end && !full);
    assign record_ready = !valid || pop_byte && one_left || pass_record;

    always_ff @(posedge clk) begin
        if (record_ready) begin
            valid    <= record_valid;
            current  <= record_data;
            one_left <= record_data.payload == 24'd1;
        end else if (pop_byte) begin
            current.payload <= current.payload - 24'd1;
            one_left        <= current.payload == 24'd2;
        end
        if (pop_byte) begin
            byte_count <= part_end || full ? 7'd0 : count_next;
            is_long    <= current.kind == RECORD_MERGE && !part_end && (is_long || full);
        end
        if (rst) begin
            valid      <= 1'b0;
            byte_count <= 7'd0;
            is_long    <= 1'b0;
        end
    end

    always_ff @(posedge clk) begin
        if (out_free) begin
            part_byte_valid   <= pop_byte;
            part_byte_data    <= byte_data;
            part_valid        <= close_pending || pass_record || pop_byte && (part_end || full);
            part_data.kind    <= close_pending ? RECORD_CLOSE : !has_bytes ? current.kind
                : current.kind == RECORD_MERGE && part_end && !is_long ? RECORD_MERGE : RECORD_RAW;
            part_data.payload <= close_pending ? 24'd0 : has_bytes ? 24'(count_next)
                : current.kind == RECORD_CUT ? current.payload : 24'd0;
            part_data.last    <= close_pending ? close_last : current.last && (!has_bytes || one_left && !is_long);
            close_pending     <= pop_byte && is_long && part_end;
            close_last        <= current.last && one_left;
        end else begin
            if (part_byte_ready) part_byte_valid <= 1'b0;
            if (part_ready)      part_valid      <= 1'b0;
        end
        if (rst) begin
            part_byte_valid <= 1'b0;
            part_valid      <= 1'b0;
            close_pending   <= 1'b0;
        end
    end

    assign idle = !valid && !close_pending && !part_byte_valid && !part_valid;

endmodule

`default_nettype wire
