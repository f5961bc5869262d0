// One merge unit: takes the ids of a piece's bytes, joins the lowest-ranked pair until none is left.
//
//   load  -->  slots  <-- asks, answers -->  pairs
//                |
//                +---->  drain                          about 8 cycles a merge, one piece at a time
//
// The function `merge` of python/jeton/reference.py. A slot holds an id and the rank of the pair that
// begins there, which is the id that the pair would become; its highest bit says that it is no token.
//
// `best` is the lowest rank, the leftmost on a tie. After a merge a tree, one level a cycle, finds
// the lowest of the ranks that stay, while the (at most two) new pairs are looked up; answers then
// lower `best` as they arrive. The answer takes longer than the tree: LEVELS + 1 cycles or more.

`default_nettype none

module merge #(
    parameter int ID_BITS = 17,
    parameter int SLOTS   = 16,    // A power of two, 2 to 64.
    localparam int SLOT_BITS  = $clog2(SLOTS)
) (
    input  wire                    clk,
    input  wire                    rst,

    // In: the ids of a piece's bytes, up to the one that is `last`; then none until all were drained.
    input  wire                    load_valid,
    input  wire  [ID_BITS-1:0]     load_id,
    input  wire                    load_last,

    // Pairs to look up, by two ports. `want` tells one cycle before that there will be an ask;
    // `grant` takes it.
    output wire  [1:0]             want,
    input  wire  [1:0]             grant,
    output wire  [2*ID_BITS-1:0]   ask_left,
    output wire  [2*ID_BITS-1:0]   ask_right,
    output wire  [2*SLOT_BITS-1:0] ask_slot,
    input  wire  [1:0]             answer_valid,
    input  wire  [1:0]             answer_hit,
    input  wire  [2*ID_BITS-1:0]   answer_id,
    input  wire  [2*SLOT_BITS-1:0] answer_slot,

    // Out: the piece's ids, one for each `drain`, once `done`.
    output wire                    done,
    output wire  [ID_BITS-1:0]     out_id,
    output wire                    out_last,
    input  wire                    drain
);

    localparam int RANK_BITS = ID_BITS + 1;
    localparam logic [RANK_BITS-1:0] NONE = '1;

    localparam logic [2:0] LOAD = 0, JOIN = 1, TREE = 2, WAIT = 3, OUT = 4;
    logic [2:0] state;

    logic [SLOTS-1:0][ID_BITS-1:0]   ids;
    logic [SLOTS-1:0][RANK_BITS-1:0] ranks;
    logic [SLOT_BITS:0]   count;    // Slots in use.
    logic                 loaded;   // The last byte is here.
    logic [SLOT_BITS:0]   issued;   // Of the first pairs, those asked for.
    logic [SLOT_BITS+1:0] awaited;  // Asks that have no answer yet, granted or not.
    logic [2:0]           level;    // Of the tree.

    logic [RANK_BITS-1:0] best_rank;
    logic [SLOT_BITS-1:0] best_slot;

    // The pairs that wait for a grant, one a port.
    logic [1:0]           ask;
    logic [ID_BITS-1:0]   left [2], right [2];
    logic [SLOT_BITS-1:0] slot [2];
    // What they become at the end of this cycle.
    logic [1:0]           ask_next;
    logic [ID_BITS-1:0]   left_next [2], right_next [2];
    logic [SLOT_BITS-1:0] slot_next [2];

    assign want      = ask_next;
    assign ask_left  = {left[1], left[0]};
    assign ask_right = {right[1], right[0]};
    assign ask_slot  = {slot[1], slot[0]};
    assign done      = state == OUT;
    assign out_id    = ids[0];
    assign out_last  = count == 1;

    // The tree over all slots: node 0 is the root, the leaves are the last SLOTS nodes.
    logic [RANK_BITS-1:0] tree_rank [2*SLOTS-1];
    logic [SLOT_BITS-1:0] tree_slot [2*SLOTS-1];
    generate
        for (genvar i = 0; i < SLOTS; i++) begin : leaf
            assign tree_rank[SLOTS-1+i] = ranks[i];
            assign tree_slot[SLOTS-1+i] = SLOT_BITS'(i);
        end
        for (genvar i = 0; i < SLOTS - 1; i++) begin : node
            if (i == 0) begin : root
                wire right_lower = tree_rank[2] < tree_rank[1];  // The left one wins a tie.
                assign tree_rank[0] = right_lower ? tree_rank[2] : tree_rank[1];
                assign tree_slot[0] = right_lower ? tree_slot[2] : tree_slot[1];
            end else begin : inner
                logic [RANK_BITS-1:0] kept_rank;
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

    // Answers, and the best when they are counted in.
    logic [RANK_BITS-1:0] heard_rank [2];
    logic [SLOT_BITS-1:0] heard_slot [2];
    logic [1:0]           lower;
    logic                 second;  // Of two answers, that of port 1 is the better.
    logic [RANK_BITS-1:0] lowest_rank;
    logic [SLOT_BITS-1:0] lowest_slot;
    always_comb begin
        for (int p = 0; p < 2; p++) begin
            heard_rank[p] = {!answer_hit[p], answer_id[p*ID_BITS +: ID_BITS]};
            heard_slot[p] = answer_slot[p*SLOT_BITS +: SLOT_BITS];
            lower[p] = answer_valid[p] && answer_hit[p]
                && {heard_rank[p], heard_slot[p]} < {best_rank, best_slot};
        end
        second = lower[1]
            && !(lower[0] && {heard_rank[0], heard_slot[0]} < {heard_rank[1], heard_slot[1]});
        lowest_rank = second ? heard_rank[1] : lower[0] ? heard_rank[0] : best_rank;
        lowest_slot = second ? heard_slot[1] : lower[0] ? heard_slot[0] : best_slot;
    end

    // The neighbours of the pair that is looked up next: while loading one pair after the other,
    // then those left and right of the pair that is joined.
    wire                  joining  = state == JOIN;
    wire [SLOT_BITS-1:0]  at_left  = joining ? best_slot - SLOT_BITS'(1) : issued[SLOT_BITS-1:0];
    wire [SLOT_BITS-1:0]  at_right = joining ? best_slot + SLOT_BITS'(2) : issued[SLOT_BITS-1:0] + SLOT_BITS'(1);
    wire [ID_BITS-1:0]    id_left  = ids[at_left];
    wire [ID_BITS-1:0]    id_right = ids[at_right];
    wire [ID_BITS-1:0]    joined   = best_rank[ID_BITS-1:0];
    wire                  has_left  = best_slot != '0;
    wire                  has_right = {1'b0, best_slot} + (SLOT_BITS+1)'(2) < count;
    wire                  join_now  = joining && !best_rank[ID_BITS];
    wire                  join_last = join_now && count == (SLOT_BITS+1)'(2);
    wire                  more      = state == LOAD && issued + (SLOT_BITS+1)'(1) < count;
    wire                  port      = issued[0];
    wire                  issue     = more && (!ask[port] || grant[port]);

    always_comb begin
        for (int p = 0; p < 2; p++) begin
            ask_next[p]   = ask[p] && !grant[p];
            left_next[p]  = left[p];
            right_next[p] = right[p];
            slot_next[p]  = slot[p];
        end
        if (issue) begin
            ask_next[port]   = 1'b1;
            left_next[port]  = id_left;
            right_next[port] = id_right;
            slot_next[port]  = issued[SLOT_BITS-1:0];
        end
        if (join_now && !join_last) begin
            ask_next      = {has_right, has_left};
            left_next[0]  = id_left;
            right_next[0] = joined;
            slot_next[0]  = best_slot - SLOT_BITS'(1);
            left_next[1]  = joined;
            right_next[1] = id_right;
            slot_next[1]  = best_slot;
        end
    end

    wire [1:0] heard = {1'b0, answer_valid[0]} + {1'b0, answer_valid[1]};
    wire [1:0] asked = join_now && !join_last ? {1'b0, has_left} + {1'b0, has_right} : {1'b0, issue};
    wire [SLOT_BITS+1:0] awaited_next = awaited + (SLOT_BITS+2)'(asked) - (SLOT_BITS+2)'(heard);

    // All slots moved one to the left; nothing comes after the last.
    wire [SLOTS-1:0][ID_BITS-1:0]   ids_moved   = ids >> ID_BITS;
    wire [SLOTS-1:0][RANK_BITS-1:0] ranks_moved = {NONE, ranks[SLOTS-1:1]};

    always_ff @(posedge clk) begin
        ask     <= ask_next;
        awaited <= awaited_next;
        for (int p = 0; p < 2; p++) begin
            left[p]  <= left_next[p];
            right[p] <= right_next[p];
            slot[p]  <= slot_next[p];
            if (answer_valid[p]) ranks[heard_slot[p]] <= heard_rank[p];
        end
        best_rank <= lowest_rank;
        best_slot <= lowest_slot;
        if (issue) issued <= issued + (SLOT_BITS+1)'(1);

        case (state)
            LOAD: begin
                if (load_valid) begin
                    ids[count[SLOT_BITS-1:0]] <= load_id;
                    count  <= count + (SLOT_BITS+1)'(1);
                    loaded <= load_last;
                end
                if (loaded && !more && awaited_next == '0) begin
                    state <= count == (SLOT_BITS+1)'(1) ? OUT : JOIN;
                end
            end
            JOIN: begin
                state <= !join_now || join_last ? OUT : TREE;
                level <= '0;
                if (join_now) begin
                    // What stands right of the pair moves one slot to the left; the ranks of the
                    // joined slot and of the one before are asked for anew.
                    count     <= count - (SLOT_BITS+1)'(1);
                    best_rank <= NONE;
                    best_slot <= '1;
                    for (int i = 0; i < SLOTS; i++) begin
                        if (SLOT_BITS'(i) > best_slot) begin
                            ids[i]   <= ids_moved[i];
                            ranks[i] <= ranks_moved[i];
                        end
                        if (SLOT_BITS'(i) == best_slot) ids[i] <= joined;
                        if (SLOT_BITS'(i) == best_slot || SLOT_BITS'(i + 1) == best_slot) begin
                            ranks[i] <= NONE;
                        end
                    end
                end
            end
            TREE: begin
                level <= level + 3'd1;
                if (level == 3'(SLOT_BITS - 1)) begin
                    best_rank <= tree_rank[0];
                    best_slot <= tree_slot[0];
                    state     <= WAIT;
                end
            end
            WAIT: if (awaited_next == '0) state <= JOIN;
            default: if (drain) begin
                count <= count - (SLOT_BITS+1)'(1);
                ids   <= ids_moved;
                if (out_last) begin
                    state     <= LOAD;
                    loaded    <= 1'b0;
                    issued    <= '0;
                    best_rank <= NONE;
                    best_slot <= '1;
                    ranks     <= '1;
                end
            end
        endcase

        if (rst) begin
            state     <= LOAD;
            count     <= '0;
            loaded    <= 1'b0;
            issued    <= '0;
            awaited   <= '0;
            ask       <= '0;
            best_rank <= NONE;
            best_slot <= '1;
            ranks     <= '1;
        end
    end

endmodule

`default_nettype wire
