// A merge unit: joins the lowest-ranked pair of neighbouring ids of a part until none is a token.
//
//   load  -->  slots  <-- lookups, results -->  pairs
//                |
//                +---->  drain                  about 9 cycles a merge, 10 with large banks
//
// A slot holds an id and the rank of the pair that begins there. The rank is the id that the pair
// would merge to, with a bit that says that the pair is no token. For example, the part " the":
//
//   slot       0            1           2           3
//   ids        32  " "      116 "t"     104 "h"     101 "e"
//   ranks      no token     256 "th"    257 "he"    no token     join at slot 1: 256 is the lowest
//   ids        32           256         101
//   ranks      no token     258 "the"   no token                 join at slot 1
//   ids        32           258
//   ranks      259 " the"   no token                             join at slot 0
//   ids        259                                               drained: one id
//
//   LOAD --> JOIN --> TREE --> WAIT --> JOIN ... --> OUT --> LOAD
//
// `best` is the lowest rank, the leftmost on a tie. After a join a tournament tree, one level a
// cycle, finds the lowest of the remaining ranks, while the two new pairs at most are looked up.
// Their results then lower `best` as they arrive. The latency of a lookup, log2(SLOTS) + 2 cycles
// or more, guarantees that they arrive after the tree is done.
//
// A slot uses one port of `pairs`: even slots port 0, or port 1 in a unit with ODD set. So the two
// pairs of a join, which are neighbours, have a port each.
//
// Invariant: the ids are those of `merge` in python/zeton/reference.py, its specification.
// Test: tests/rtl/test_merge.py, against the engine, with late grants and results.

`default_nettype none

module merge #(
    parameter int ID_BITS = 17,
    parameter int SLOTS   = 16,    // A power of two, 2 to 64.
    parameter bit ODD     = 1'b0,
    localparam int SLOT_BITS  = $clog2(SLOTS)
) (
    input  wire                    clk,
    input  wire                    rst,

    // In: the ids of a part's bytes, the last one with `load_last`; then none until all were
    // drained. `lane` looks up the pair that each byte makes with the previous one.
    input  wire                    load_valid,
    input  wire  [ID_BITS-1:0]     load_id,
    input  wire                    load_last,

    // Lookups by two ports. A grant comes in a cycle after that of the request, and takes it.
    output wire  [1:0]             lookup_request,
    input  wire  [1:0]             lookup_grant,
    output wire  [2*ID_BITS-1:0]   lookup_left,
    output wire  [2*ID_BITS-1:0]   lookup_right,
    output wire  [2*SLOT_BITS-1:0] lookup_slot,
    input  wire  [1:0]             result_valid,
    input  wire  [1:0]             result_hit,
    input  wire  [2*ID_BITS-1:0]   result_id,
    input  wire  [2*SLOT_BITS-1:0] result_slot,  // The unit registers all four.

    // Out: the part's ids, one for each `drain`, once `done`.
    output logic                   done,
    output wire  [ID_BITS-1:0]     out_id,
    output logic                   out_last,     // One id is left,
    output logic                   out_two,      // or two are.
    input  wire                    drain
);

    typedef enum logic [2:0] {
        LOAD = 3'd0,   // Bytes and the results of their lookups arrive.
        JOIN = 3'd1,   // The best pair is joined.
        TREE = 3'd2,   // The lowest remaining rank is found.
        WAIT = 3'd3,   // The results of the new pairs arrive.
        OUT  = 3'd4    // The ids are drained.
    } state_t;
    state_t state;

    logic [SLOTS-1:0][ID_BITS-1:0] ids;
    logic [SLOTS-1:0][ID_BITS-1:0] ranks;
    logic [SLOTS-1:0]     no_token;     // The pair that begins here is no token, or is missing.
    logic [SLOT_BITS:0]   count;        // Slots in use.
    logic [SLOTS-1:0]     load_slot;    // One-hot: the slot of the next byte.
    logic                 load_done;    // The last byte has arrived.
    logic [SLOT_BITS:0]   outstanding;  // Lookups without a result, granted or not.
    logic [2:0]           level;        // Of the tree.

    logic                 best_no_token;
    logic [ID_BITS-1:0]   best_rank;
    logic [SLOT_BITS-1:0] best_slot;

    // The lookups that wait for a grant, one for each port.
    logic [1:0]                pending;
    logic [1:0][ID_BITS-1:0]   pending_left, pending_right;
    logic [1:0][SLOT_BITS-1:0] pending_slot;

    assign lookup_request = pending & ~lookup_grant;
    assign lookup_left    = pending_left;
    assign lookup_right   = pending_right;
    assign lookup_slot    = pending_slot;
    assign out_id         = ids[0];

    // The tournament tree over all slots: node 0 is the root, the last SLOTS nodes are the leaves.
    logic [ID_BITS:0]     tree_rank [2*SLOTS-1];
    logic [SLOT_BITS-1:0] tree_slot [2*SLOTS-1];
    generate
        for (genvar i = 0; i < SLOTS; i++) begin : leaf
            assign tree_rank[SLOTS-1+i] = {no_token[i], ranks[i]};
            assign tree_slot[SLOTS-1+i] = SLOT_BITS'(i);
        end
        for (genvar i = 0; i < SLOTS - 1; i++) begin : node
            if (i == 0) begin : root
                wire right_lower = tree_rank[2] < tree_rank[1];  // A tie goes left.
                assign tree_rank[0] = right_lower ? tree_rank[2] : tree_rank[1];
                assign tree_slot[0] = right_lower ? tree_slot[2] : tree_slot[1];
            end else begin : inner
                logic [ID_BITS:0]     kept_rank;
                logic [SLOT_BITS-1:0] kept_slot;
                always_ff @(posedge clk) if (state == TREE) begin
                    if (tree_rank[2*i+2] < tree_rank[2*i+1]) begin
                        kept_rank <= tree_rank[2*i+2];
                        kept_slot <= tree_slot[2*i+2];
                    end else begin
                        kept_rank <= tree_rank[2*i+1];
                        kept_slot <= tree_slot[2*i+1];
                    end
                end
                assign tree_rank[i] = kept_rank;
                assign tree_slot[i] = kept_slot;
            end
        end
    endgenerate

    // Results, a cycle later, and the best pair with them.
    logic [1:0]                result_valid_1, result_hit_1;
    logic [1:0][ID_BITS-1:0]   result_rank_1;
    logic [1:0][SLOT_BITS-1:0] result_slot_1;
    always_ff @(posedge clk) begin
        result_valid_1 <= rst ? 2'b00 : result_valid;
        result_hit_1   <= result_hit;
        result_rank_1  <= result_id;
        result_slot_1  <= result_slot;
    end
    logic [1:0]                is_better;
    logic                      second_is_best;  // The result of port 1 is the best pair.
    always_comb begin
        for (int p = 0; p < 2; p++) begin
            is_better[p] = result_valid_1[p] && result_hit_1[p]
                && {1'b0, result_rank_1[p], result_slot_1[p]} < {best_no_token, best_rank, best_slot};
        end
        second_is_best = is_better[1]
            && !(is_better[0] && {result_rank_1[0], result_slot_1[0]} < {result_rank_1[1], result_slot_1[1]});
    end

    // The join. Slots change in the cycle after the decision (`join_active`), by one-hot registers.
    // The neighbours' ids are read in that cycle too: a request of it is granted in the next, at
    // the earliest.
    logic                 join_active;
    logic [SLOTS-1:0]     join_slot;  // One-hot: the slot of the last cycle's best pair.
    logic [SLOTS-1:0]     join_from;  // That slot and all to its right.
    wire  [SLOTS-1:0]     join_after = join_from << 1;
    logic [ID_BITS-1:0]   id_left, id_right;
    wire                  has_left  = best_slot != '0;
    wire                  has_right = {1'b0, best_slot} + (SLOT_BITS+1)'(2) < count;
    wire                  join_now  = state == JOIN && !best_no_token;
    wire                  join_last = count == (SLOT_BITS+1)'(2);
    wire                  best_port = best_slot[0] ^ ODD;
    always_comb begin
        id_left  = '0;
        id_right = '0;
        for (int i = 0; i < SLOTS; i++) begin
            if (i > 0)         id_left  = id_left  | ids[(i + SLOTS - 1) % SLOTS] & {ID_BITS{join_slot[i]}};
            if (i < SLOTS - 2) id_right = id_right | ids[(i + 2) % SLOTS] & {ID_BITS{join_slot[i]}};
        end
    end

    // All results are in. No result arrives in state JOIN.
    wire [1:0] results = {1'b0, result_valid_1[0]} + {1'b0, result_valid_1[1]};
    wire       all_results = outstanding == (SLOT_BITS+1)'(results);

    logic [SLOT_BITS:0] count_next;
    always_comb begin
        count_next = count;
        if (load_valid)             count_next = count + (SLOT_BITS+1)'(1);
        else if (join_now || drain) count_next = count - (SLOT_BITS+1)'(1);
    end

    // Ids to the right of a joined pair shift one slot to the left; a drain shifts all of them.
    wire [ID_BITS-1:0] shift_in = join_active ? best_rank : load_id;

    always_ff @(posedge clk) begin
        outstanding <= outstanding + (SLOT_BITS+1)'(load_valid && count != '0) - (SLOT_BITS+1)'(results);
        count       <= count_next;
        out_last    <= count_next == (SLOT_BITS+1)'(1);
        out_two     <= count_next == (SLOT_BITS+1)'(2);
        pending     <= lookup_request;
        join_active <= join_now;
        join_from   <= {SLOTS{1'b1}} << best_slot;
        for (int i = 0; i < SLOTS; i++) join_slot[i] <= best_slot == SLOT_BITS'(i);
        if (load_valid) load_slot <= load_slot << 1;

        for (int i = 0; i < SLOTS; i++) begin
            if (drain || join_active && join_after[i]) begin
                if (i < SLOTS - 1) ids[i] <= ids[(i + 1) % SLOTS];
            end else if (join_active ? join_from[i] : load_valid && load_slot[i]) begin
                ids[i] <= shift_in;
            end
            if (join_active && join_from[i]) begin
                if (i < SLOTS - 1) ranks[i] <= ranks[(i + 1) % SLOTS];
                no_token[i] <= !join_after[i] || i == SLOTS - 1 || no_token[(i + 1) % SLOTS];
            end else if (join_active && join_from[(i + 1) % SLOTS]) begin
                no_token[i] <= 1'b1;
            end else if (result_valid_1[1'(i) ^ ODD] && result_slot_1[1'(i) ^ ODD] == SLOT_BITS'(i)) begin
                ranks[i]    <= result_rank_1[1'(i) ^ ODD];
                no_token[i] <= !result_hit_1[1'(i) ^ ODD];
            end
        end

        if (second_is_best) begin
            best_no_token <= 1'b0;
            best_rank     <= result_rank_1[1];
            best_slot     <= result_slot_1[1];
        end else if (is_better[0]) begin
            best_no_token <= 1'b0;
            best_rank     <= result_rank_1[0];
            best_slot     <= result_slot_1[0];
        end

        case (state)
            LOAD: begin
                if (load_valid) load_done <= load_last;
                if (load_done && all_results) begin
                    state <= out_last ? OUT : JOIN;
                    done  <= out_last;
                end
            end
            JOIN: begin
                state <= !join_now || join_last ? OUT : TREE;
                done  <= !join_now || join_last;
                level <= '0;
                if (join_now && !join_last) outstanding <= (SLOT_BITS+1)'(has_left) + (SLOT_BITS+1)'(has_right);
                if (join_now) begin
                    pending       <= join_last ? 2'b00 : best_port ? {has_right, has_left} : {has_left, has_right};
                    best_no_token <= 1'b1;
                    for (int p = 0; p < 2; p++) pending_slot[p] <= best_port == 1'(p) ? best_slot : best_slot - SLOT_BITS'(1);
                end
            end
            TREE: begin
                level <= level + 3'd1;
                for (int p = 0; p < 2; p++) if (level == '0) begin
                    pending_left[p]  <= best_port == 1'(p) ? best_rank : id_left;
                    pending_right[p] <= best_port == 1'(p) ? id_right : best_rank;
                end
                if (level == 3'(SLOT_BITS)) begin
                    {best_no_token, best_rank} <= tree_rank[0];
                    best_slot                  <= tree_slot[0];
                    state                      <= WAIT;
                end
            end
            WAIT: if (all_results) state <= JOIN;
            default: if (drain && out_last) begin
                state         <= LOAD;
                done          <= 1'b0;
                load_done     <= 1'b0;
                load_slot     <= SLOTS'(1'b1);
                best_no_token <= 1'b1;
                no_token      <= '1;
            end
        endcase

        if (rst) begin
            state         <= LOAD;
            done          <= 1'b0;
            count         <= '0;
            out_last      <= 1'b0;
            out_two       <= 1'b0;
            load_done     <= 1'b0;
            load_slot     <= SLOTS'(1'b1);
            outstanding   <= '0;
            pending       <= '0;
            join_active   <= 1'b0;
            best_no_token <= 1'b1;
            best_rank     <= '1;
            best_slot     <= '1;
            ranks         <= '1;
            no_token      <= '1;
        end
    end

endmodule

`default_nettype wire
