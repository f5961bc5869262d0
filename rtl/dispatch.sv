// Gives each part to a free merge unit, a byte a cycle, and what no unit takes to the raw stream.
//
//   bytes, records  -->  byte → id  -->  load          one byte per cycle, latency 2
//                    \-> raw words                     while units and room are there
//
// The loop over pieces in `encode` of python/zeton/reference.py. A part of more than SLOTS bytes needs
// a wide unit; if none is free it leaves raw rather than hold up the text, and the host merges it.
// A shorter one takes a wide unit only when no other is free.

`default_nettype none

module dispatch #(
    parameter int ID_BITS    = 17,
    parameter int UNITS      = 12,  // Units of SLOTS slots, at least 1; unit numbers begin with them.
    parameter int WIDE_UNITS = 4,   // Wider ones after them; 0 for none.
    parameter int SLOTS      = 16,
    parameter int PART_MAX   = 32,  // Bytes of the longest part that has a unit.
    localparam int ALL       = UNITS + WIDE_UNITS,
    localparam int SLOT_BITS = $clog2(PART_MAX),
    localparam int UNIT_BITS = ALL > 1 ? $clog2(ALL) : 1
) (
    input  wire                  clk,
    input  wire                  rst,
    output wire                  idle,

    // In: bytes, and what they are; see `parts`.
    input  wire                  byte_valid,
    output wire                  byte_ready,
    input  wire  [7:0]           byte_data,
    input  wire                  record_valid,
    output wire                  record_ready,
    input  wire  [2:0]           record_kind,
    input  wire  [23:0]          record_payload,
    input  wire                  record_last,

    // To `reorder`: a ticket for each part and each raw stretch. `now` is only said where there is `room`.
    output wire                  open_now,
    input  wire                  open_room,
    output wire                  open_raw,
    output wire                  open_end,
    output wire  [6:0]           open_length,
    output wire  [UNIT_BITS-1:0] open_unit,
    output wire                  raw_now,
    input  wire                  raw_room,
    output wire  [27:0]          raw_word,

    // To the units. `released`: a unit gave its last id. `pair`: the byte makes a pair with the one before, at
    // `slot`, to be asked for by this port: see `merge`.
    input  wire  [ALL-1:0]       released,
    output logic [ALL-1:0]       load_valid,
    output wire  [ID_BITS-1:0]   load_id,
    output logic                 load_last,
    output logic [1:0]           load_pair,
    output logic [UNIT_BITS-1:0] load_unit,
    output logic [SLOT_BITS-1:0] load_slot,

    // Table 4: the id of each byte. Only while idle.
    input  wire                  table_write,
    input  wire                  table_read,
    input  wire  [3:0]           table_select,
    /* verilator lint_off UNUSEDSIGNAL */  // As wide as the widest table.
    input  wire  [19:0]          table_address,
    input  wire  [39:0]          table_data,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic [39:0]          table_answer
);

    // Kinds of records, and of words.
    localparam logic [2:0] PART = 0, RAW = 1, CLOSE = 3;
    localparam logic [2:0] BYTE = 1;

    // The next free unit of each width, chosen ahead.
    localparam logic [ALL-1:0] NARROW = ALL'((64'd1 << UNITS) - 64'd1);
    logic [ALL-1:0]       free;
    logic                 narrow_valid, wide_valid;
    logic [UNIT_BITS-1:0] narrow_unit, wide_unit;
    wire  [ALL-1:0]       free_narrow = free & NARROW;
    wire  [ALL-1:0]       free_wide   = free & ~NARROW;
    wire  [ALL-1:0]       narrow_pick = free_narrow & ~(free_narrow - ALL'(1));
    wire  [ALL-1:0]       wide_pick   = free_wide & ~(free_wide - ALL'(1));
    wire                  narrow_used, wide_used;
    wire                  narrow_next = !narrow_valid || narrow_used;
    wire                  wide_next   = !wide_valid || wide_used;

    function automatic logic [UNIT_BITS-1:0] index(input logic [ALL-1:0] one_unit);
        index = '0;
        for (int u = 0; u < ALL; u++) if (one_unit[u]) index = index | UNIT_BITS'(u);
    endfunction

    // The record whose bytes pass.
    logic        valid;
    logic [2:0]  kind;
    logic [23:0] payload;     // Of a part or a raw stretch, the bytes to come.
    logic        ends;        // The text ends with it.
    logic        wide;        // More bytes than SLOTS.
    logic        one;         // One byte to come.
    logic [5:0]  at;          // Bytes that are gone;
    logic        first;       // none are.
    logic        raw_part;    // The part leaves raw: kept from its first byte on.
    logic        wide_part;   // It goes to a wide unit: likewise.
    logic        closing;     // A part left raw; its CLOSE is still to be said.
    logic        closing_end;
    logic        stretch;     // A raw stretch is open.

    wire is_part  = valid && !closing && kind == PART;
    wire is_raw   = valid && !closing && kind == RAW;
    wire is_word  = valid && !closing && kind != PART && kind != RAW;
    wire part_raw  = first ? wide && !wide_valid : raw_part;
    wire part_wide = first ? wide || !narrow_valid : wide_part;
    wire has_unit  = wide ? wide_valid : narrow_valid || wide_valid;

    // A ticket is opened with the first byte of a part, and with the first word of a raw stretch.
    wire opens    = kind == PART ? first : !stretch;
    wire may_open = !opens || open_room;
    wire load     = is_part && byte_valid && !part_raw && may_open && (!first || has_unit);
    wire say_byte = (is_raw || is_part && part_raw) && byte_valid && may_open && raw_room;
    wire say_word = is_word && may_open && raw_room;
    wire say_close = closing && raw_room;
    wire finishes  = (load || say_byte) && one || say_word;

    assign byte_ready   = load || say_byte;
    assign record_ready = !valid || finishes;
    assign open_now     = (load || say_byte || say_word) && opens;
    assign open_raw     = kind != PART || part_raw;
    assign open_end     = ends;
    assign open_length  = payload[6:0];
    assign open_unit    = part_wide ? wide_unit : narrow_unit;
    assign raw_now      = say_byte || say_word || say_close;
    assign raw_word     = closing ? {closing_end, CLOSE, 24'd0}
                        : kind == PART || kind == RAW ? {1'b0, BYTE, 16'd0, byte_data}
                        : {ends, kind, payload};
    assign idle         = !record_valid && !valid && !closing && !stretch;

    assign narrow_used = load && one && !part_wide;
    assign wide_used   = load && one && part_wide;

    always_ff @(posedge clk) begin
        if (record_ready) begin
            valid   <= record_valid;
            kind    <= record_kind;
            payload <= record_payload;
            ends    <= record_last;
            wide    <= record_payload[6:0] > 7'(SLOTS);
            one     <= record_payload[6:0] == 7'd1;
            at      <= '0;
            first   <= 1'b1;
        end else if (load || say_byte) begin
            payload[6:0] <= payload[6:0] - 7'd1;
            one          <= payload[6:0] == 7'd2;
            at           <= at + 6'd1;
            first        <= 1'b0;
        end
        if (first) begin
            raw_part  <= part_raw;
            wide_part <= part_wide;
        end
        if (say_byte && kind == PART && one) begin
            closing     <= 1'b1;
            closing_end <= ends;
        end else if (say_close) begin
            closing <= 1'b0;
        end
        if (say_byte && kind == RAW || say_word) stretch <= kind != CLOSE && !kind[2];

        for (int u = 0; u < ALL; u++) load_valid[u] <= load && open_unit == UNIT_BITS'(u);
        for (int p = 0; p < 2; p++) load_pair[p] <= load && !first && (at[0] ^ open_unit[0]) != 1'(p);
        load_last <= one;
        load_unit <= open_unit;
        load_slot <= at[SLOT_BITS-1:0] - SLOT_BITS'(1);

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
            valid        <= 1'b0;
            closing      <= 1'b0;
            stretch      <= 1'b0;
            load_valid   <= '0;
            load_pair    <= '0;
            free         <= '1;
            narrow_valid <= 1'b0;
            wide_valid   <= 1'b0;
        end
    end

    // A byte's own id.
    wire mine = table_select == 4'd4;
    logic [2:0]         reading;
    logic [ID_BITS-1:0] read_id;
    memory #(.WIDTH(ID_BITS), .DEPTH_LOG(8)) bytes (
        .clk,
        .write(table_write && mine), .write_address(table_address[7:0]), .write_data(table_data[ID_BITS-1:0]),
        .read(load || table_read), .read_address(table_read ? table_address[7:0] : byte_data),
        .read_data(load_id)
    );
    always_ff @(posedge clk) begin
        reading      <= rst ? '0 : {reading[1:0], table_read && mine};
        read_id      <= load_id;
        table_answer <= reading[2] && !rst ? 40'(read_id) : '0;
    end

endmodule

`default_nettype wire
