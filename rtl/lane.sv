// A lane: one complete tokenizer pipeline, from the bytes of texts to words.
//
//   text --> pieces --> dispatch --> merge units --> reorder --> words      one byte per cycle
//                                     |      ^
//                                     +-> pairs
//
// For example, the text "the the" becomes the words {ID, 258}, {last, ID, 259}. A part that no
// merge unit takes leaves raw, in its place, for the host to merge: its bytes as BYTE words, then
// CLOSE.
//
// Invariant: the ids, after the host merged the raw stretches, are those of `encode` in
// python/zeton/reference.py, the specification. Tests: tests/rtl/test_lane.py, against the engine,
// and in four states by Icarus. The formats of words: zeton_pkg.sv and docs/accelerator.md.

`default_nettype none

module lane
    import zeton_pkg::*;
#(
    parameter int ID_BITS     = 17,
    parameter int BANK_BITS   = 15,  // Of each of the four banks of `pairs`.
    parameter int UNITS       = 12,
    parameter int SLOTS       = 16,  // Bytes of the longest part that a narrow unit takes.
    parameter int WIDE_UNITS  = 4,
    parameter int WIDE_SLOTS  = 32,
    parameter int BRIDGE_BITS = 16,
    parameter int BYTES_LOG   = 11,  // Bytes between split and parts.
    parameter int TICKET_BITS = 6,   // Parts in flight.
    parameter int RING_BITS   = 9    // Bytes in flight.
) (
    input  wire        clk,
    input  wire        rst,
    output logic       idle,

    input  wire        text_valid,
    output wire        text_ready,
    input  wire text_t text_data,

    output wire        word_valid,
    input  wire        word_ready,
    output wire word_t word_data,

    // Response latency: 4 to 6 cycles.
    input  wire table_request_t table_request,
    output wire table_entry_t   table_response,

    output wire        count_byte,
    output wire        count_piece,
    output wire        count_bad,
    output wire        count_id,
    output wire        count_raw,
    output wire  [1:0] count_lookup
);

    localparam int ALL         = UNITS + WIDE_UNITS;
    localparam int UNIT_BITS   = ALL > 1 ? $clog2(ALL) : 1;
    localparam int PART_MAX    = WIDE_UNITS > 0 && WIDE_SLOTS > SLOTS ? WIDE_SLOTS : SLOTS;
    localparam int SLOT_BITS   = $clog2(PART_MAX);
    localparam int SOURCE_BITS = UNIT_BITS + SLOT_BITS;  // Of a lookup: {unit, slot}.
    localparam int GROUPS      = (ALL + 3) / 4;          // Of four units with one lookup register.

    wire table_entry_t pieces_response, dispatch_response, pairs_response;
    assign table_response = pieces_response | dispatch_response | pairs_response;

    // ---- Text to parts.

    wire          byte_valid, byte_ready, record_valid, record_ready;
    wire [7:0]    byte_data;
    wire record_t record_data;
    wire          pieces_idle, dispatch_idle, reorder_idle;
    wire          in_valid, in_ready;
    wire text_t   in_data;

    skid #(.WIDTH(11)) text_skid (
        .clk, .rst,
        .in_valid(text_valid), .in_ready(text_ready), .in_data(text_data),
        .out_valid(in_valid), .out_ready(in_ready), .out_data(in_data)
    );

    pieces #(.PART_MAX(PART_MAX), .BRIDGE_BITS(BRIDGE_BITS), .BYTES_LOG(BYTES_LOG)) text_pieces (
        .clk, .rst, .idle(pieces_idle),
        .text_valid(in_valid), .text_ready(in_ready), .text_data(in_data),
        .byte_valid, .byte_ready, .byte_data,
        .record_valid, .record_ready, .record_data,
        .table_request, .table_response(pieces_response),
        .count_byte, .count_piece, .count_bad
    );

    // ---- Parts to units.

    wire                   ticket_push, ticket_ready, ticket_raw, ticket_last;
    wire [6:0]             ticket_length;
    wire [UNIT_BITS-1:0]   ticket_unit;
    wire                   raw_push, raw_ready;
    wire word_t            raw_word;
    wire [ALL-1:0]         load_valid, released, done, out_last, out_two, drain;
    wire [ID_BITS-1:0]     load_id;
    wire                   load_last;
    wire [1:0]             load_pair;
    wire [UNIT_BITS-1:0]   load_unit;
    wire [SLOT_BITS-1:0]   load_slot;
    wire [ALL*ID_BITS-1:0] out_id;

    dispatch #(
        .ID_BITS(ID_BITS), .UNITS(UNITS), .WIDE_UNITS(WIDE_UNITS), .SLOTS(SLOTS), .PART_MAX(PART_MAX)
    ) part_dispatch (
        .clk, .rst, .idle(dispatch_idle),
        .byte_valid, .byte_ready, .byte_data,
        .record_valid, .record_ready, .record_data,
        .ticket_push, .ticket_ready, .ticket_raw, .ticket_last, .ticket_length, .ticket_unit,
        .raw_push, .raw_ready, .raw_word,
        .released, .load_valid, .load_id, .load_last, .load_pair, .load_unit, .load_slot,
        .table_request, .table_response(dispatch_response)
    );

    // A loaded byte has a cycle from the memory of ids to its unit. The pair of it and the previous
    // byte is looked up at once, on a port that is held back from the arbiter for that cycle.
    logic [ALL-1:0]       first_valid;
    logic                 first_last;
    logic [ID_BITS-1:0]   first_left, first_right, previous_id;
    logic [UNIT_BITS-1:0] first_unit;
    logic [SLOT_BITS-1:0] first_slot;
    logic [1:0]           first_pair;

    always_ff @(posedge clk) begin
        if (load_valid != '0) previous_id <= load_id;
        first_valid <= rst ? '0 : load_valid;
        first_last  <= load_last;
        first_left  <= previous_id;
        first_right <= load_id;
        first_unit  <= load_unit;
        first_slot  <= load_slot;
        first_pair  <= rst ? 2'b00 : load_pair;
    end

    // ---- Merge units, and their lookups by two ports.

    wire [ALL-1:0]                request [2];
    wire [ALL-1:0]                grant [2];
    wire [ALL-1:0][ID_BITS-1:0]   unit_left  [2];
    wire [ALL-1:0][ID_BITS-1:0]   unit_right [2];
    wire [ALL-1:0][SLOT_BITS-1:0] unit_slot  [2];
    logic [1:0]                   lookup_valid;
    wire [2*ID_BITS-1:0]          lookup_left, lookup_right;
    wire [2*SOURCE_BITS-1:0]      lookup_source;
    wire [1:0]                    result_valid, result_hit;
    wire [2*ID_BITS-1:0]          result_id;
    wire [2*SOURCE_BITS-1:0]      result_source;

    generate
        for (genvar u = 0; u < ALL; u++) begin : unit
            localparam int OWN_SLOTS = u < UNITS ? SLOTS : WIDE_SLOTS;
            localparam int OWN_BITS  = $clog2(OWN_SLOTS);
            wire [1:0]            own_request;
            wire [2*ID_BITS-1:0]  own_left, own_right;
            wire [2*OWN_BITS-1:0] own_slot;
            wire [1:0]            own_result;

            merge #(.ID_BITS(ID_BITS), .SLOTS(OWN_SLOTS), .ODD(1'(u))) unit_merge (
                .clk, .rst,
                .load_valid(first_valid[u]), .load_id(first_right), .load_last(first_last),
                .lookup_request(own_request), .lookup_grant({grant[1][u], grant[0][u]}),
                .lookup_left(own_left), .lookup_right(own_right), .lookup_slot(own_slot),
                .result_valid(own_result), .result_hit, .result_id,
                .result_slot({result_source[SOURCE_BITS +: OWN_BITS], result_source[0 +: OWN_BITS]}),
                .done(done[u]), .out_id(out_id[u*ID_BITS +: ID_BITS]), .out_last(out_last[u]),
                .out_two(out_two[u]), .drain(drain[u])
            );

            for (genvar p = 0; p < 2; p++) begin : own_port
                assign request[p][u]    = own_request[p];
                assign unit_left[p][u]  = own_left[p*ID_BITS +: ID_BITS];
                assign unit_right[p][u] = own_right[p*ID_BITS +: ID_BITS];
                assign unit_slot[p][u]  = SLOT_BITS'(own_slot[p*OWN_BITS +: OWN_BITS]);
                assign own_result[p] = result_valid[p]
                    && result_source[p*SOURCE_BITS + SLOT_BITS +: UNIT_BITS] == UNIT_BITS'(u);
            end
        end

        for (genvar p = 0; p < 2; p++) begin : port
            wire                 granted;
            wire [UNIT_BITS-1:0] granted_unit;
            arbiter #(.COUNT(ALL)) lookup_arbiter (
                .clk, .rst, .stall(load_pair[p]), .request(request[p]), .grant(grant[p]),
                .grant_valid(granted), .grant_index(granted_unit)
            );

            // A multiplexer by OR: units without a grant give zeros. Each group of four units has a
            // register, and so has the pair of a loaded byte; a cycle later all of them are joined.
            logic [GROUPS:0][ID_BITS-1:0]   left, right;
            logic [GROUPS:0][SLOT_BITS-1:0] slot;
            logic [UNIT_BITS-1:0]           source_unit;
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
                left[GROUPS]    <= first_left & {ID_BITS{first_pair[p]}};
                right[GROUPS]   <= first_right & {ID_BITS{first_pair[p]}};
                slot[GROUPS]    <= first_slot & {SLOT_BITS{first_pair[p]}};
                source_unit     <= first_pair[p] ? first_unit : granted_unit;
                lookup_valid[p] <= (granted || first_pair[p]) && !rst;
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
            assign lookup_left[p*ID_BITS +: ID_BITS]           = all_left;
            assign lookup_right[p*ID_BITS +: ID_BITS]          = all_right;
            assign lookup_source[p*SOURCE_BITS +: SOURCE_BITS] = {source_unit, all_slot};
        end
    endgenerate

    pairs #(.ID_BITS(ID_BITS), .BANK_BITS(BANK_BITS), .SOURCE_BITS(SOURCE_BITS)) pair_table (
        .clk, .rst,
        .lookup_valid, .lookup_left, .lookup_right, .lookup_source,
        .result_valid, .result_hit, .result_id, .result_source,
        .table_request, .table_response(pairs_response)
    );

    // ---- Units to words.

    wire        out_valid, out_ready;
    wire word_t out_data;

    reorder #(
        .ID_BITS(ID_BITS), .ALL(ALL), .PART_MAX(PART_MAX), .TICKET_BITS(TICKET_BITS), .RING_BITS(RING_BITS)
    ) word_reorder (
        .clk, .rst, .idle(reorder_idle),
        .ticket_push, .ticket_ready, .ticket_raw, .ticket_last, .ticket_length, .ticket_unit,
        .raw_push, .raw_ready, .raw_word,
        .done, .out_id, .out_last, .out_two, .drain, .released,
        .word_valid(out_valid), .word_ready(out_ready), .word_data(out_data)
    );

    skid #(.WIDTH(WORD_BITS)) word_skid (
        .clk, .rst,
        .in_valid(out_valid), .in_ready(out_ready), .in_data(out_data),
        .out_valid(word_valid), .out_ready(word_ready), .out_data(word_data)
    );

    always_ff @(posedge clk) begin
        idle <= !rst && !text_valid && !in_valid && pieces_idle && dispatch_idle && reorder_idle && !word_valid;
    end

    wire out_moves = out_valid && out_ready;
    assign count_id     = out_moves && out_data.kind == WORD_ID;
    assign count_raw    = out_moves && out_data.kind == WORD_BYTE;
    assign count_lookup = {1'b0, lookup_valid[0]} + {1'b0, lookup_valid[1]};

endmodule

`default_nettype wire
