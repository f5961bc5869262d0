// Gives each part to a free merge unit, a byte a cycle, and what no unit takes to the raw stream.
//
//   bytes, records  -->  byte → id  -->  load          one byte per cycle, latency 1
//                    \-> raw words                     while units and room are there
//
// The loop over pieces in `encode` of python/jeton/reference.py. A part of more than SLOTS bytes needs
// a wide unit; if none is free it leaves raw rather than hold up the text, and the host merges it.
// A shorter one takes a wide unit only when no other is free.

`default_nettype none

module dispatch #(
    parameter int ID_BITS    = 17,
    parameter int UNITS      = 12,  // Units of SLOTS slots, at least 1; unit numbers begin with them.
    parameter int WIDE_UNITS = 4,   // Wider ones after them; 0 for none.
    parameter int SLOTS      = 16,
    localparam int ALL       = UNITS + WIDE_UNITS,
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

    // To the units. `released`: a unit gave its last id.
    input  wire  [ALL-1:0]       released,
    output logic [ALL-1:0]       load_valid,
    output wire  [ID_BITS-1:0]   load_id,
    output logic                 load_last,

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
    logic [ALL-1:0]       free;
    logic                 narrow_valid, wide_valid;
    logic [UNIT_BITS-1:0] narrow_unit, wide_unit;
    logic                 narrow_found, wide_found;
    logic [UNIT_BITS-1:0] narrow_pick, wide_pick;
    logic                 narrow_used, wide_used;

    always_comb begin
        narrow_found = 1'b0;
        narrow_pick  = '0;
        wide_found   = 1'b0;
        wide_pick    = '0;
        for (int u = ALL - 1; u >= 0; u--) begin
            if (free[u] && u < UNITS) begin
                narrow_found = 1'b1;
                narrow_pick  = UNIT_BITS'(u);
            end
            if (free[u] && u >= UNITS) begin
                wide_found = 1'b1;
                wide_pick  = UNIT_BITS'(u);
            end
        end
    end

    // What is done with the record at the head.
    logic [5:0] at;           // Bytes of it that are gone.
    logic       raw_part;     // The part at the head leaves raw: kept from its first byte on.
    logic       wide_part;    // It goes to a wide unit: likewise.
    logic       closing;      // A part left raw; its CLOSE is still to be said.
    logic       closing_end;
    logic       stretch;      // A raw stretch is open.

    wire first    = at == '0;
    wire is_part  = record_valid && !closing && record_kind == PART;
    wire is_raw   = record_valid && !closing && record_kind == RAW;
    wire is_word  = record_valid && !closing && record_kind != PART && record_kind != RAW;
    wire is_wide  = record_payload > 24'(SLOTS);
    wire part_raw  = first ? is_wide && !wide_valid : raw_part;
    wire part_wide = first ? is_wide || !narrow_valid : wide_part;
    wire has_unit  = part_wide ? wide_valid : narrow_valid;
    wire last     = 24'(at) + 24'd1 == record_payload;

    // A ticket is opened with the first byte of a part, and with the first word of a raw stretch.
    wire opens    = is_part ? first : !stretch;
    wire may_open = !opens || open_room;
    wire load     = is_part && byte_valid && !part_raw && may_open && (!first || has_unit);
    wire say_byte = (is_raw || is_part && part_raw) && byte_valid && may_open && raw_room;
    wire say_word = is_word && may_open && raw_room;
    wire say_close = closing && raw_room;

    assign byte_ready   = load || say_byte;
    assign record_ready = (load || say_byte) && last || say_word;
    assign open_now   = (load || say_byte || say_word) && opens;
    assign open_raw     = !load;
    assign open_end     = record_last;
    assign open_length  = record_payload[6:0];
    assign open_unit    = part_wide ? wide_unit : narrow_unit;
    assign raw_now    = say_byte || say_word || say_close;
    assign raw_word     = say_byte ? {1'b0, BYTE, 16'd0, byte_data}
                        : say_close ? {closing_end, CLOSE, 24'd0}
                        : {record_last, record_kind, record_payload};
    assign idle         = !record_valid && !closing && !stretch;

    assign narrow_used = load && last && !part_wide;
    assign wide_used   = load && last && part_wide;

    always_ff @(posedge clk) begin
        if (load || say_byte) at <= last ? '0 : at + 6'd1;
        if (is_part && first && (load || say_byte)) begin
            raw_part  <= part_raw;
            wide_part <= part_wide;
        end
        if (say_byte && is_part && last) begin
            closing     <= 1'b1;
            closing_end <= record_last;
        end else if (say_close) begin
            closing <= 1'b0;
        end
        if (say_byte && is_raw || say_word) begin
            stretch <= is_raw || record_kind != CLOSE && record_kind[2] == 1'b0;
        end

        load_valid <= '0;
        if (load) load_valid[open_unit] <= 1'b1;
        load_last <= last;

        free <= free | released;
        if (!narrow_valid || narrow_used) begin
            narrow_valid <= narrow_found;
            narrow_unit  <= narrow_pick;
            if (narrow_found) free[narrow_pick] <= 1'b0;
        end
        if (!wide_valid || wide_used) begin
            wide_valid <= wide_found;
            wide_unit  <= wide_pick;
            if (wide_found) free[wide_pick] <= 1'b0;
        end

        if (rst) begin
            at           <= '0;
            closing      <= 1'b0;
            stretch      <= 1'b0;
            load_valid   <= '0;
            free         <= '1;
            narrow_valid <= 1'b0;
            wide_valid   <= 1'b0;
        end
    end

    // A byte's own id.
    wire mine = table_select == 4'd4;
    logic [2:0] reading;
    memory #(.WIDTH(ID_BITS), .DEPTH_LOG(8)) bytes (
        .clk,
        .write(table_write && mine), .write_address(table_address[7:0]), .write_data(table_data[ID_BITS-1:0]),
        .read(load || table_read), .read_address(table_read ? table_address[7:0] : byte_data),
        .read_data(load_id)
    );
    always_ff @(posedge clk) begin
        reading      <= rst ? '0 : {reading[1:0], table_read && mine};
        table_answer <= reading[2] && !rst ? 40'(load_id) : '0;
    end

endmodule

`default_nettype wire
