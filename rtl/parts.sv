// Cuts pieces into parts that merge alone, and tells those that fit a merge unit from those that leave raw.
//
//   bytes    -->  count  -->  bytes        one byte per cycle, latency 1
//   records  -->         -->  records      one per cycle, no earlier than their last byte
//
// `cuts` in crates/zeton/src/merge/bridges.rs: the ids of a piece are those of its parts. A part of more than PART_MAX
// bytes becomes RAW records of at most 64 bytes and a CLOSE, beside which a byte passes that ends nothing. What `split`
// spilled passes likewise.

`default_nettype none

module parts #(
    parameter int PART_MAX = 32    // Bytes that the widest merge unit takes, at most 64.
) (
    input  wire         clk,
    input  wire         rst,
    output wire         idle,

    // In: bytes and records of `split`.
    input  wire         byte_valid,
    output wire         byte_ready,
    input  wire  [7:0]  byte_data,
    input  wire         byte_cut,
    input  wire         record_valid,
    output wire         record_ready,
    input  wire  [2:0]  record_kind,
    input  wire  [23:0] record_payload,
    input  wire         record_last,

    // Out: the same bytes, and 0 PART (its length), 1 RAW (so many bytes), 2 CUT (place), 3 CLOSE, 4 NOTHING, 7 MARK.
    output logic        part_byte_valid,
    input  wire         part_byte_ready,
    output logic [7:0]  part_byte_data,
    output logic        part_valid,
    input  wire         part_ready,
    output logic [2:0]  part_kind,
    output logic [23:0] part_payload,
    output logic        part_last
);

    localparam logic [2:0] PIECE = 0, OPEN = 1;
    localparam logic [2:0] PART = 0, RAW = 1, CUT = 2, CLOSE = 3;
    localparam int RAW_MAX = 64;

    // The record whose bytes pass.
    logic        valid;
    logic [2:0]  kind;
    logic [23:0] payload;            // Bytes to come, or the place of a cut.
    logic        last;
    logic        one;                // One byte to come.

    logic [6:0]  count;              // Bytes since the last record out.
    logic        raw;                // This part was too long, and has left in part.
    logic        closes;             // Its CLOSE is due,
    logic        closes_last;        // and ends the text.

    wire [6:0] count_next = count + 7'd1;
    wire ends   = one || byte_cut && kind == PIECE;
    wire full   = count_next == (raw || kind == OPEN ? 7'(RAW_MAX) : 7'(PART_MAX));

    wire free   = (!part_byte_valid || part_byte_ready) && (!part_valid || part_ready);
    wire reads  = valid && (kind == PIECE || kind == OPEN);
    wire takes  = byte_valid && byte_ready;
    wire passes = valid && !reads && free && !closes;
    assign byte_ready   = reads && free && (!closes || !ends && !full);
    assign record_ready = !valid || takes && one || passes;

    always_ff @(posedge clk) begin
        if (record_ready) begin
            valid   <= record_valid;
            kind    <= record_kind;
            payload <= record_payload;
            last    <= record_last;
            one     <= record_payload == 24'd1;
        end else if (takes) begin
            payload <= payload - 24'd1;
            one     <= payload == 24'd2;
        end
        if (takes) begin
            count <= ends || full ? 7'd0 : count_next;
            raw   <= kind == PIECE && !ends && (raw || full);
        end
        if (rst) begin
            valid <= 1'b0;
            count <= 7'd0;
            raw   <= 1'b0;
        end
    end

    always_ff @(posedge clk) begin
        if (free) begin
            part_byte_valid <= takes;
            part_byte_data  <= byte_data;
            part_valid      <= closes || passes || takes && (ends || full);
            part_kind       <= closes ? CLOSE : !reads ? kind : kind == PIECE && ends && !raw ? PART : RAW;
            part_payload    <= closes ? 24'd0 : reads ? 24'(count_next) : kind == CUT ? payload : 24'd0;
            part_last       <= closes ? closes_last : last && (!reads || one && !raw);
            closes          <= takes && raw && ends;
            closes_last     <= last && one;
        end else begin
            if (part_byte_ready) part_byte_valid <= 1'b0;
            if (part_ready)      part_valid      <= 1'b0;
        end
        if (rst) begin
            part_byte_valid <= 1'b0;
            part_valid      <= 1'b0;
            closes          <= 1'b0;
        end
    end

    assign idle = !valid && !closes && !part_byte_valid && !part_valid;

endmodule

`default_nettype wire
