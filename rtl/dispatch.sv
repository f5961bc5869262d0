// The dispatcher: loads each part into a free merge unit, or sends its bytes out as raw words.
//
//   bytes, records --+--> byte -> id --> load          one byte per cycle, latency 2,
//                    +--> raw words                    while units and `reorder` are ready
//
// For example, with SLOTS = 16 the part " the" (record {last, MERGE, 4}) becomes
//
//   ticket    push {raw 0, last 1, length 4, unit u} with the first byte
//   load      the ids 32, 116, 104, 101 into unit u, the last one with load_last
//   load_pair a port for each byte but the first: pairs (32, 116), (116, 104), (104, 101)
//
// A part of more than SLOTS bytes needs a wide unit. If none is free the part leaves raw, because
// waiting would stall the text; the host merges it. A shorter part takes a wide unit only when no
// narrow one is free.
//
// Invariant: every part and raw stretch pushes one ticket, in the order of the text, before or with
// its first byte. Specification: the loop over pieces in `encode` of python/zeton/reference.py, and
// `_piece` of `Lane` in python/zeton/accel/reference.py. Test: tests/rtl/test_dispatch.py.

`default_nettype none

module dispatch
    import zeton_pkg::*;
#(
    parameter int ID_BITS    = 17,
    parameter int UNITS      = 12,  // Narrow units of SLOTS slots, at least 1; the lower indices.
    parameter int WIDE_UNITS = 4,   // Wide units, the higher indices; may be 0.
    parameter int SLOTS      = 16,
    parameter int PART_MAX   = 32,  // Bytes of the longest part that has a unit.
    localparam int ALL       = UNITS + WIDE_UNITS,
    localparam int SLOT_BITS = $clog2(PART_MAX),
    localparam int UNIT_BITS = ALL > 1 ? $clog2(ALL) : 1
) (
    input  wire                  clk,
    input  wire                  rst,
    output wire                  idle,

    // In: bytes and their records, from `parts`.
    input  wire                  byte_valid,
    output wire                  byte_ready,
    input  wire  [7:0]           byte_data,
    input  wire                  record_valid,
    output wire                  record_ready,
    input  wire  record_t        record_data,

    // To `reorder`: a ticket for each part and raw stretch. A push comes only while ready.
    output wire                  ticket_push,
    input  wire                  ticket_ready,
    output wire                  ticket_raw,
    output wire                  ticket_last,
    output wire  [6:0]           ticket_length,
    output wire  [UNIT_BITS-1:0] ticket_unit,
    output wire                  raw_push,
    input  wire                  raw_ready,
    output wire  word_t          raw_word,

    // To the units. `load_pair`: the ports of `pairs` for the pair of this byte and the previous
    // one, which begins at `load_slot`; see `merge`.
    input  wire  [ALL-1:0]       released,    // The units that gave their last id.
    output logic [ALL-1:0]       load_valid,
    output wire  [ID_BITS-1:0]   load_id,
    output logic                 load_last,
    output logic [1:0]           load_pair,
    output logic [UNIT_BITS-1:0] load_unit,
    output logic [SLOT_BITS-1:0] load_slot,

    // Table 4: the id of each byte. Response latency: 4 cycles.
    /* verilator lint_off UNUSEDSIGNAL */  // The request is as wide as the widest table.
    input  wire  table_request_t table_request,
    /* verilator lint_on UNUSEDSIGNAL */
    output table_entry_t         table_response
);

    // The next free unit of each width, chosen a cycle ahead.
    localparam logic [ALL-1:0] NARROW = ALL'((64'd1 << UNITS) - 64'd1);
    logic [ALL-1:0]       free;
    logic                 narrow_valid, wide_valid;
    logic [UNIT_BITS-1:0] narrow_unit, wide_unit;
    wire  [ALL-1:0]       free_narrow = free & NARROW;
    wire  [ALL-1:0]       free_wide   = free & ~NARROW;
    wire  [ALL-1:0]       narrow_pick = free_narrow & ~(free_narrow - ALL'(1));
    wire  [ALL-1:0]       wide_pick   = free_wide & ~(free_wide - ALL'(1));
    wire                  narrow_taken, wide_taken;
    wire                  narrow_next = !narrow_valid || narrow_taken;
    wire                  wide_next   = !wide_valid || wide_taken;

    function automatic logic [UNIT_BITS-1:0] index(input logic [ALL-1:0] one_hot);
        index = '0;
        for (int u = 0; u < ALL; u++) if (one_hot[u]) index = index | UNIT_BITS'(u);
    endfunction

    // The record whose bytes pass. Its payload counts down the bytes to come.
    logic        valid;
    record_t     current;
    logic        is_long;       // More bytes than SLOTS.
    logic        one_left;      // One byte to come.
    logic [5:0]  byte_index;
    logic        first;         // No byte has passed.
    logic        raw_part_held;    // The choices of the part's first byte,
    logic        wide_part_held;   // kept for its other bytes.
    logic        close_pending; // A part left raw, and its CLOSE did not.
    logic        close_last;
    logic        raw_open;      // Within a raw stretch.

    wire is_part   = valid && !close_pending && current.kind == RECORD_MERGE;
    wire is_raw    = valid && !close_pending && current.kind == RECORD_RAW;
    wire is_word   = valid && !close_pending && current.kind != RECORD_MERGE && current.kind != RECORD_RAW;
    wire part_raw  = first ? is_long && !wide_valid : raw_part_held;
    wire part_wide = first ? is_long || !narrow_valid : wide_part_held;
    wire has_unit  = is_long ? wide_valid : narrow_valid || wide_valid;

    // A ticket goes with the first byte of a part, and with the first word of a raw stretch.
    wire needs_ticket = current.kind == RECORD_MERGE ? first : !raw_open;
    wire has_ticket   = !needs_ticket || ticket_ready;
    wire load       = is_part && byte_valid && !part_raw && has_ticket && (!first || has_unit);
    wire push_byte  = (is_raw || is_part && part_raw) && byte_valid && has_ticket && raw_ready;
    wire push_word  = is_word && has_ticket && raw_ready;
    wire push_close = close_pending && raw_ready;
    wire record_done = (load || push_byte) && one_left || push_word;

    assign byte_ready    = load || push_byte;
    assign record_ready  = !valid || record_done;
    assign ticket_push   = (load || push_byte || push_word) && needs_ticket;
    assign ticket_raw    = current.kind != RECORD_MERGE || part_raw;
    assign ticket_last   = current.last;
    assign ticket_length = current.payload[6:0];
    assign ticket_unit   = part_wide ? wide_unit : narrow_unit;
    assign raw_push      = push_byte || push_word || push_close;
    assign raw_word      = close_pending ? {close_last, WORD_CLOSE, 24'd0}
        : current.kind == RECORD_MERGE || current.kind == RECORD_RAW ? {1'b0, WORD_BYTE, 16'd0, byte_data}
        : {current.last, current.kind, current.payload};   // CUT to MARK are the words' kinds too.
    assign idle          = !record_valid && !valid && !close_pending && !raw_open;

    assign narrow_taken = load && one_left && !part_wide;
    assign wide_taken   = load && one_left && part_wide;

    always_ff @(posedge clk) begin
        if (record_ready) begin
            valid      <= record_valid;
            current    <= record_data;
            is_long    <= record_data.payload[6:0] > 7'(SLOTS);
            one_left   <= record_data.payload[6:0] == 7'd1;
            byte_index <= '0;
            first      <= 1'b1;
        end else if (load || push_byte) begin
            current.payload <= {current.payload[23:7], current.payload[6:0] - 7'd1};
            one_left        <= current.payload[6:0] == 7'd2;
            byte_index      <= byte_index + 6'd1;
            first           <= 1'b0;
        end
        if (first) begin
            raw_part_held  <= part_raw;
            wide_part_held <= part_wide;
        end
        if (push_byte && current.kind == RECORD_MERGE && one_left) begin
            close_pending <= 1'b1;
            close_last    <= current.last;
        end else if (push_close) begin
            close_pending <= 1'b0;
        end
        if (push_byte && current.kind == RECORD_RAW || push_word) begin
            // RAW or CUT. Icarus 11 does not select a bit of an enum in a struct, so a comparison.
            raw_open <= current.kind != RECORD_CLOSE && current.kind < RECORD_NOTHING;
        end

        for (int u = 0; u < ALL; u++) load_valid[u] <= load && ticket_unit == UNIT_BITS'(u);
        for (int p = 0; p < 2; p++) load_pair[p] <= load && !first && (byte_index[0] ^ ticket_unit[0]) != 1'(p);
        load_last <= one_left;
        load_unit <= ticket_unit;
        load_slot <= byte_index[SLOT_BITS-1:0] - SLOT_BITS'(1);

        free <= (free | released) & ~(narrow_next ? narrow_pick : '0) & ~(wide_next ? wide_pick : '0);
        if (narrow_next) begin
            narrow_valid <= free_narrow != '0;
            narrow_unit  <= index(narrow_pick);
        end
        if (wide_next) begin
            wide_valid <= free_wide != '0;
            wide_unit  <= index(wide_pick);
        end

        if (rst) begin
            valid         <= 1'b0;
            close_pending <= 1'b0;
            raw_open      <= 1'b0;
            load_valid    <= '0;
            load_pair     <= '0;
            free          <= '1;
            narrow_valid  <= 1'b0;
            wide_valid    <= 1'b0;
        end
    end

    // The id of each byte.
    wire table_selected = table_request.select == TABLE_BYTES;
    logic [2:0]         read_shift;   // One-hot; a one moves up while a read is under way.
    logic [ID_BITS-1:0] read_id;
    memory #(.WIDTH(ID_BITS), .DEPTH_LOG(8)) bytes (
        .clk,
        .write(table_request.write && table_selected),
        .write_address(table_request.address[7:0]), .write_data(table_request.data[ID_BITS-1:0]),
        .read(load || table_request.read),
        .read_address(table_request.read ? table_request.address[7:0] : byte_data),
        .read_data(load_id)
    );
    always_ff @(posedge clk) begin
        read_shift     <= rst ? '0 : {read_shift[1:0], table_request.read && table_selected};
        read_id        <= load_id;
        table_response <= read_shift[2] && !rst ? 40'(read_id) : '0;
    end

endmodule

`default_nettype wire
