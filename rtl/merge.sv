// One merge unit: takes the ids of a piece's bytes, joins the lowest-ranked pair until none is left.
//
//   load  -->  slots  <-- asks, answers -->  pairs
//                |
//                +---->  drain                          about 9 cycles a merge, one piece at a time
//
// The function `merge` of python/zeton/reference.py. A slot holds an id and the rank of the pair that
// begins there, which is the id that the pair would become, and whether that pair is no token.
//
// `best` is the lowest rank, the leftmost on a tie. After a merge a tree, one level a cycle, finds
// the lowest of the ranks that stay, while the (at most two) new pairs are looked up; answers then
// lower `best` as they arrive. The answer takes longer than the tree: LEVELS + 2 cycles or more.
//
// The pair at a slot is always asked for by the same port: the first of an even slot, unless the unit
// is ODD. So the two pairs of a merge, which are neighbours, have a port each, and a slot hears one port.

`default_nettype none

module merge #(
    parameter int ID_BITS = 17,
    parameter int SLOTS   = 16,    // A power of two, 2 to 64.
    parameter bit ODD     = 1'b0,
    localparam int SLOT_BITS  = $clog2(SLOTS)
) (
    input  wire                    clk,
    input  wire                    rst,

    // In: the ids of a piece's bytes, up to the one that is `last`; then none until all were drained.
    // Who loads also asks for the pair that each byte makes with the one before.
    input  wire                    load_valid,
    input  wire  [ID_BITS-1:0]     load_id,
    input  wire                    load_last,

    // Pairs to look up, by two ports; `grant` takes one, in a cycle after that in which it was wanted.
    output wire  [1:0]             want,
    input  wire  [1:0]             grant,
    output wire  [2*ID_BITS-1:0]   ask_left,
    output wire  [2*ID_BITS-1:0]   ask_right,
    output wire  [2*SLOT_BITS-1:0] ask_slot,
    input  wire  [1:0]             answer_valid,
    input  wire  [1:0]             answer_hit,
    input  wire  [2*ID_BITS-1:0]   answer_id,
    input  wire  [2*SLOT_BITS-1:0] answer_slot,  // All four are taken into registers of the unit's own.

    // Out: the piece's ids, one for each `drain`, once `done`.
    output logic                   done,
    output wire  [ID_BITS-1:0]     out_id,
    output logic                   out_last,     // One is left,
    output logic                   out_two,      // or two are.
    input  wire                    drain
);

    localparam logic [2:0] LOAD = 0, JOIN = 1, TREE = 2, WAIT = 3, OUT = 4;
    logic [2:0] state;

    logic [SLOTS-1:0][ID_BITS-1:0] ids;
    logic [SLOTS-1:0][ID_BITS-1:0] ranks;
    logic [SLOTS-1:0]     none;     // The pair is no token, or there is none.
    logic [SLOT_BITS:0]   count;    // Slots in use.
    logic [SLOTS-1:0]     place;    // The slot that the next byte goes to, one bit a slot.
    logic                 loaded;   // The last byte is here.
    logic [SLOT_BITS:0]   awaited;  // Asks that have no answer yet, granted or not.
    logic [2:0]           level;    // Of the tree.

    logic                 best_none;
    logic [ID_BITS-1:0]   best_rank;
    logic [SLOT_BITS-1:0] best_slot;

    // The pairs that wait for a grant, one a port.
    logic [1:0]                ask;
    logic [1:0][ID_BITS-1:0]   left, right;
    logic [1:0][SLOT_BITS-1:0] slot;

    assign want      = ask & ~grant;
    assign ask_left  = left;
    assign ask_right = right;
    assign ask_slot  = slot;
    assign out_id    = ids[0];

    // The tree over all slots: node 0 is the root, the leaves are the last SLOTS nodes.
    logic [ID_BITS:0]     tree_rank [2*SLOTS-1];
    logic [SLOT_BITS-1:0] tree_slot [2*SLOTS-1];
    generate
        for (genvar i = 0; i < SLOTS; i++) begin : leaf
            assign tree_rank[SLOTS-1+i] = {none[i], ranks[i]};
            assign tree_slot[SLOTS-1+i] = SLOT_BITS'(i);
        end
        for (genvar i = 0; i < SLOTS - 1; i++) begin : node
            if (i == 0) begin : root
                wire right_lower = tree_rank[2] < tree_rank[1];  // The left one wins a tie.
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

    // Answers, and the best when they are counted in.
    logic [1:0]                heard_valid, heard_hit;
    logic [1:0][ID_BITS-1:0]   heard_rank;
    logic [1:0][SLOT_BITS-1:0] heard_slot;
    always_ff @(posedge clk) begin
        heard_valid <= rst ? 2'b00 : answer_valid;
        heard_hit   <= answer_hit;
        heard_rank  <= answer_id;
        heard_slot  <= answer_slot;
    end
    logic [1:0]                lower;
    logic                      second;  // Of two answers, that of port 1 is the better.
    always_comb begin
        for (int p = 0; p < 2; p++) begin
            lower[p] = heard_valid[p] && heard_hit[p]
                && {1'b0, heard_rank[p], heard_slot[p]} < {best_none, best_rank, best_slot};
        end
        second = lower[1]
            && !(lower[0] && {heard_rank[0], heard_slot[0]} < {heard_rank[1], heard_slot[1]});
    end

    // The pair that is joined. Slots change in the cycle after it was decided (`joins`), by registers that tell which;
    // in the same one its neighbours are found: an ask that is wanted then is granted no earlier than in the one after.
    logic                 joins;
    logic [SLOTS-1:0]     joined;      // The slot of the last cycle's best, one bit a slot,
    logic [SLOTS-1:0]     from;        // and all from it on.
    wire  [SLOTS-1:0]     after = from << 1;
    logic [ID_BITS-1:0]   id_left, id_right;
    wire                  has_left  = best_slot != '0;
    wire                  has_right = {1'b0, best_slot} + (SLOT_BITS+1)'(2) < count;
    wire                  join_now  = state == JOIN && !best_none;
    wire                  join_last = count == (SLOT_BITS+1)'(2);
    wire                  best_port = best_slot[0] ^ ODD;
    always_comb begin
        id_left  = '0;
        id_right = '0;
        for (int i = 0; i < SLOTS; i++) begin
            if (i > 0)         id_left  = id_left  | ids[(i + SLOTS - 1) % SLOTS] & {ID_BITS{joined[i]}};
            if (i < SLOTS - 2) id_right = id_right | ids[(i + 2) % SLOTS] & {ID_BITS{joined[i]}};
        end
    end

    // Nothing is awaited any more. While a pair is joined no answer comes.
    wire [1:0] heard   = {1'b0, heard_valid[0]} + {1'b0, heard_valid[1]};
    wire       settled = awaited == (SLOT_BITS+1)'(heard);

    logic [SLOT_BITS:0] count_next;
    always_comb begin
        count_next = count;
        if (load_valid)             count_next = count + (SLOT_BITS+1)'(1);
        else if (join_now || drain) count_next = count - (SLOT_BITS+1)'(1);
    end

    // What stands right of a joined pair moves one slot to the left; so does all that is drained.
    wire [ID_BITS-1:0] entering = joins ? best_rank : load_id;

    always_ff @(posedge clk) begin
        awaited  <= awaited + (SLOT_BITS+1)'(load_valid && count != '0) - (SLOT_BITS+1)'(heard);
        count    <= count_next;
        out_last <= count_next == (SLOT_BITS+1)'(1);
        out_two  <= count_next == (SLOT_BITS+1)'(2);
        ask      <= want;
        joins    <= join_now;
        from     <= {SLOTS{1'b1}} << best_slot;
        for (int i = 0; i < SLOTS; i++) joined[i] <= best_slot == SLOT_BITS'(i);
        if (load_valid) place <= place << 1;

        for (int i = 0; i < SLOTS; i++) begin
            if (drain || joins && after[i]) begin
                if (i < SLOTS - 1) ids[i] <= ids[(i + 1) % SLOTS];
            end else if (joins ? from[i] : load_valid && place[i]) begin
                ids[i] <= entering;
            end
            if (joins && from[i]) begin
                if (i < SLOTS - 1) ranks[i] <= ranks[(i + 1) % SLOTS];
                none[i] <= !after[i] || i == SLOTS - 1 || none[(i + 1) % SLOTS];
            end else if (joins && from[(i + 1) % SLOTS]) begin
                none[i] <= 1'b1;
            end else if (heard_valid[1'(i) ^ ODD] && heard_slot[1'(i) ^ ODD] == SLOT_BITS'(i)) begin
                ranks[i] <= heard_rank[1'(i) ^ ODD];
                none[i]  <= !heard_hit[1'(i) ^ ODD];
            end
        end

        if (second) begin
            best_none <= 1'b0;
            best_rank <= heard_rank[1];
            best_slot <= heard_slot[1];
        end else if (lower[0]) begin
            best_none <= 1'b0;
            best_rank <= heard_rank[0];
            best_slot <= heard_slot[0];
        end

        case (state)
            LOAD: begin
                if (load_valid) loaded <= load_last;
                if (loaded && settled) begin
                    state <= out_last ? OUT : JOIN;
                    done  <= out_last;
                end
            end
            JOIN: begin
                state <= !join_now || join_last ? OUT : TREE;
                done  <= !join_now || join_last;
                level <= '0;
                if (join_now && !join_last) awaited <= (SLOT_BITS+1)'(has_left) + (SLOT_BITS+1)'(has_right);
                if (join_now) begin
                    ask       <= join_last ? 2'b00 : best_port ? {has_right, has_left} : {has_left, has_right};
                    best_none <= 1'b1;
                    for (int p = 0; p < 2; p++) slot[p] <= best_port == 1'(p) ? best_slot : best_slot - SLOT_BITS'(1);
                end
            end
            TREE: begin
                level <= level + 3'd1;
                for (int p = 0; p < 2; p++) if (level == '0) begin
                    left[p]  <= best_port == 1'(p) ? best_rank : id_left;
                    right[p] <= best_port == 1'(p) ? id_right : best_rank;
                end
                if (level == 3'(SLOT_BITS)) begin
                    {best_none, best_rank} <= tree_rank[0];
                    best_slot <= tree_slot[0];
                    state     <= WAIT;
                end
            end
            WAIT: if (settled) state <= JOIN;
            default: if (drain && out_last) begin
                state     <= LOAD;
                done      <= 1'b0;
                loaded    <= 1'b0;
                place     <= SLOTS'(1'b1);
                best_none <= 1'b1;
                none      <= '1;
            end
        endcase

        if (rst) begin
            state     <= LOAD;
            done      <= 1'b0;
            count     <= '0;
            out_last  <= 1'b0;
            out_two   <= 1'b0;
            loaded    <= 1'b0;
            place     <= SLOTS'(1'b1);
            awaited   <= '0;
            ask       <= '0;
            joins     <= 1'b0;
            best_none <= 1'b1;
            best_rank <= '1;
            best_slot <= '1;
            ranks     <= '1;
            none      <= '1;
        end
    end

endmodule

`default_nettype wire
