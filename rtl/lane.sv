// One lane: the bytes of texts become ids.
//
//   text --> pieces --> dispatch --> merge units --> reorder --> words      one byte per cycle
//                                     |      ^
//                                     +-> pairs
//
// The function `encode` of python/zeton/reference.py. What a unit cannot hold leaves raw, in its place,
// for the host to merge. Words: {end of text, kind, payload}; docs/accelerator.md has the formats.

`default_nettype none

module lane #(
    parameter int ID_BITS     = 17,
    parameter int BANK_BITS   = 15,  // Of each of the four banks of `pairs`.
    parameter int UNITS       = 12,
    parameter int SLOTS       = 16,  // Bytes of the longest part that such a unit takes.
    parameter int WIDE_UNITS  = 4,
    parameter int WIDE_SLOTS  = 32,
    parameter int BRIDGE_BITS = 16,
    parameter int BYTES_LOG   = 11,  // Bytes between split and parts.
    parameter int TICKET_BITS = 6,   // Parts in flight.
    parameter int RING_BITS   = 9    // Bytes in flight.
) (
    input  wire         clk,
    input  wire         rst,
    output logic        idle,

    input  wire         text_valid,
    output wire         text_ready,
    input  wire  [7:0]  text_byte,
    input  wire         text_keep,
    input  wire         text_last,
    input  wire         text_mark,

    output wire         word_valid,
    input  wire         word_ready,
    output wire  [27:0] word_data,

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

    localparam int ALL       = UNITS + WIDE_UNITS;
    localparam int UNIT_BITS = ALL > 1 ? $clog2(ALL) : 1;
    localparam int PART_MAX  = WIDE_UNITS > 0 && WIDE_SLOTS > SLOTS ? WIDE_SLOTS : SLOTS;
    localparam int SLOT_BITS = $clog2(PART_MAX);
    localparam int FROM_BITS = UNIT_BITS + SLOT_BITS;
    localparam int GROUPS    = (ALL + 3) / 4;  // Of units that share a register for what they ask.
    localparam logic [2:0] ID = 0, BYTE = 1;

    wire [39:0] pieces_answer, dispatch_answer, pairs_answer;
    assign table_answer = pieces_answer | dispatch_answer | pairs_answer;

    // Text to parts.
    wire        byte_valid, byte_ready, record_valid, record_ready, record_last;
    wire [7:0]  byte_data;
    wire [2:0]  record_kind;
    wire [23:0] record_payload;
    wire        pieces_idle, dispatch_idle, reorder_idle;
    wire        in_valid, in_ready, in_keep, in_last, in_mark;
    wire [7:0]  in_byte;

    skid #(.WIDTH(11)) text_skid (
        .clk, .rst,
        .in_valid(text_valid), .in_ready(text_ready), .in_data({text_byte, text_keep, text_last, text_mark}),
        .out_valid(in_valid), .out_ready(in_ready), .out_data({in_byte, in_keep, in_last, in_mark})
    );

    pieces #(.PART_MAX(PART_MAX), .BRIDGE_BITS(BRIDGE_BITS), .BYTES_LOG(BYTES_LOG)) text_pieces (
        .clk, .rst, .idle(pieces_idle),
        .text_valid(in_valid), .text_ready(in_ready), .text_byte(in_byte),
        .text_keep(in_keep), .text_last(in_last), .text_mark(in_mark),
        .byte_valid, .byte_ready, .byte_data,
        .record_valid, .record_ready, .record_kind, .record_payload, .record_last,
        .table_write, .table_read, .table_select, .table_address, .table_data,
        .table_answer(pieces_answer),
        .count_byte, .count_piece, .count_bad
    );

    // Parts to units.
    wire                 open_now, open_room, open_raw, open_end;
    wire [6:0]           open_length;
    wire [UNIT_BITS-1:0] open_unit;
    wire                 raw_now, raw_room;
    wire [27:0]          raw_word;
    wire [ALL-1:0]       load_valid, released, done, out_last, out_two, drain;
    wire [ID_BITS-1:0]   load_id;
    wire                 load_last;
    wire [1:0]           load_pair;
    wire [UNIT_BITS-1:0] load_unit;
    wire [SLOT_BITS-1:0] load_slot;
    wire [ALL*ID_BITS-1:0] out_id;

    dispatch #(
        .ID_BITS(ID_BITS), .UNITS(UNITS), .WIDE_UNITS(WIDE_UNITS), .SLOTS(SLOTS), .PART_MAX(PART_MAX)
    ) part_dispatch (
        .clk, .rst, .idle(dispatch_idle),
        .byte_valid, .byte_ready, .byte_data,
        .record_valid, .record_ready, .record_kind, .record_payload, .record_last,
        .open_now, .open_room, .open_raw, .open_end, .open_length, .open_unit,
        .raw_now, .raw_room, .raw_word,
        .released, .load_valid, .load_id, .load_last, .load_pair, .load_unit, .load_slot,
        .table_write, .table_read, .table_select, .table_address, .table_data,
        .table_answer(dispatch_answer)
    );

    // A loaded byte has a cycle to get from the memory of ids to its unit. The pair that it makes with the
    // one before is asked for at once; while its port is held for that, no unit is granted.
    logic [ALL-1:0]       first_valid;
    logic                 first_last;
    logic [ID_BITS-1:0]   first_left, first_right, load_before;
    logic [UNIT_BITS-1:0] first_unit;
    logic [SLOT_BITS-1:0] first_slot;
    logic [1:0]           first_pair;

    always_ff @(posedge clk) begin
        if (load_valid != '0) load_before <= load_id;
        first_valid <= rst ? '0 : load_valid;
        first_last  <= load_last;
        first_left  <= load_before;
        first_right <= load_id;
        first_unit  <= load_unit;
        first_slot  <= load_slot;
        first_pair  <= rst ? 2'b00 : load_pair;
    end

    // Units, and the pairs they ask for by two ports.
    wire [ALL-1:0]             want  [2];
    wire [ALL-1:0]             grant [2];
    wire [ALL-1:0][ID_BITS-1:0]   unit_left  [2];
    wire [ALL-1:0][ID_BITS-1:0]   unit_right [2];
    wire [ALL-1:0][SLOT_BITS-1:0] unit_slot  [2];
    logic [1:0]                ask_valid;
    wire [2*ID_BITS-1:0]       ask_left, ask_right;
    wire [2*FROM_BITS-1:0]     ask_from;
    wire [1:0]                 answer_valid, answer_hit;
    wire [2*ID_BITS-1:0]       answer_id;
    wire [2*FROM_BITS-1:0]     answer_from;

    generate
        for (genvar u = 0; u < ALL; u++) begin : unit
            localparam int OWN_SLOTS = u < UNITS ? SLOTS : WIDE_SLOTS;
            localparam int OWN_BITS  = $clog2(OWN_SLOTS);
            wire [1:0]            own_want;
            wire [2*ID_BITS-1:0]  own_left, own_right;
            wire [2*OWN_BITS-1:0] own_slot;
            wire [1:0]            own_answer;

            merge #(.ID_BITS(ID_BITS), .SLOTS(OWN_SLOTS), .ODD(1'(u))) unit_merge (
                .clk, .rst,
                .load_valid(first_valid[u]), .load_id(first_right), .load_last(first_last),
                .want(own_want), .grant({grant[1][u], grant[0][u]}),
                .ask_left(own_left), .ask_right(own_right), .ask_slot(own_slot),
                .answer_valid(own_answer), .answer_hit, .answer_id,
                .answer_slot({answer_from[FROM_BITS +: OWN_BITS], answer_from[0 +: OWN_BITS]}),
                .done(done[u]), .out_id(out_id[u*ID_BITS +: ID_BITS]), .out_last(out_last[u]),
                .out_two(out_two[u]), .drain(drain[u])
            );

            for (genvar p = 0; p < 2; p++) begin : own_port
                assign want[p][u] = own_want[p];
                assign unit_left[p][u]  = own_left[p*ID_BITS +: ID_BITS];
                assign unit_right[p][u] = own_right[p*ID_BITS +: ID_BITS];
                assign unit_slot[p][u]  = SLOT_BITS'(own_slot[p*OWN_BITS +: OWN_BITS]);
                assign own_answer[p] = answer_valid[p]
                    && answer_from[p*FROM_BITS + SLOT_BITS +: UNIT_BITS] == UNIT_BITS'(u);
            end
        end

        for (genvar p = 0; p < 2; p++) begin : port
            wire                 granted;
            wire [UNIT_BITS-1:0] granted_unit;
            arbiter #(.COUNT(ALL)) ask_arbiter (
                .clk, .rst, .hold(load_pair[p]), .want(want[p]), .grant(grant[p]),
                .grant_valid(granted), .grant_index(granted_unit)
            );

            // One asks, the others give zeros. Groups of four units have a register each, and the first pairs
            // have one: all are joined in the cycle after.
            logic [GROUPS:0][ID_BITS-1:0]   left, right;
            logic [GROUPS:0][SLOT_BITS-1:0] slot;
            logic [UNIT_BITS-1:0]           asker;
            for (genvar g = 0; g < GROUPS; g++) begin : group
                logic [ID_BITS-1:0]   own_left, own_right;
                logic [SLOT_BITS-1:0] own_slot;
                always_comb begin
                    own_left  = '0;
                    own_right = '0;
                    own_slot  = '0;
                    for (int u = 4 * g; u < (4 * g + 4 < ALL ? 4 * g + 4 : ALL); u++) begin
                        own_left  = own_left  | unit_left[p][u]  & {ID_BITS{grant[p][u]}};
                        own_right = own_right | unit_right[p][u] & {ID_BITS{grant[p][u]}};
                        own_slot  = own_slot  | unit_slot[p][u]  & {SLOT_BITS{grant[p][u]}};
                    end
                end
                always_ff @(posedge clk) begin
                    left[g]  <= own_left;
                    right[g] <= own_right;
                    slot[g]  <= own_slot;
                end
            end
            always_ff @(posedge clk) begin
                left[GROUPS]  <= first_left & {ID_BITS{first_pair[p]}};
                right[GROUPS] <= first_right & {ID_BITS{first_pair[p]}};
                slot[GROUPS]  <= first_slot & {SLOT_BITS{first_pair[p]}};
                asker         <= first_pair[p] ? first_unit : granted_unit;
                ask_valid[p]  <= (granted || first_pair[p]) && !rst;
            end
            logic [ID_BITS-1:0]   all_left, all_right;
            logic [SLOT_BITS-1:0] all_slot;
            always_comb begin
                all_left  = '0;
                all_right = '0;
                all_slot  = '0;
                for (int g = 0; g <= GROUPS; g++) begin
                    all_left  = all_left  | left[g];
                    all_right = all_right | right[g];
                    all_slot  = all_slot  | slot[g];
                end
            end
            assign ask_left[p*ID_BITS +: ID_BITS]     = all_left;
            assign ask_right[p*ID_BITS +: ID_BITS]    = all_right;
            assign ask_from[p*FROM_BITS +: FROM_BITS] = {asker, all_slot};
        end
    endgenerate

    pairs #(.ID_BITS(ID_BITS), .BANK_BITS(BANK_BITS), .FROM_BITS(FROM_BITS)) pair_table (
        .clk, .rst,
        .ask_valid, .ask_left, .ask_right, .ask_from,
        .answer_valid, .answer_hit, .answer_id, .answer_from,
        .table_write, .table_read, .table_select, .table_address, .table_data,
        .table_answer(pairs_answer)
    );

    // Units to words.
    wire        out_valid, out_ready;
    wire [27:0] out_word;

    reorder #(
        .ID_BITS(ID_BITS), .ALL(ALL), .PART_MAX(PART_MAX), .TICKET_BITS(TICKET_BITS), .RING_BITS(RING_BITS)
    ) word_reorder (
        .clk, .rst, .idle(reorder_idle),
        .open_now, .open_room, .open_raw, .open_end, .open_length, .open_unit,
        .raw_now, .raw_room, .raw_word,
        .done, .out_id, .out_last, .out_two, .drain, .released,
        .word_valid(out_valid), .word_ready(out_ready), .word_data(out_word)
    );

    skid #(.WIDTH(28)) word_skid (
        .clk, .rst,
        .in_valid(out_valid), .in_ready(out_ready), .in_data(out_word),
        .out_valid(word_valid), .out_ready(word_ready), .out_data(word_data)
    );

    always_ff @(posedge clk) begin
        idle <= !rst && !text_valid && !in_valid && pieces_idle && dispatch_idle && reorder_idle && !word_valid;
    end

    wire gone = out_valid && out_ready;
    assign count_id     = gone && out_word[26:24] == ID;
    assign count_raw    = gone && out_word[26:24] == BYTE;
    assign count_lookup = {1'b0, ask_valid[0]} + {1'b0, ask_valid[1]};

endmodule

`default_nettype wire
