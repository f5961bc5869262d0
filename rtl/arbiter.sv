// A round-robin arbiter: grants one of COUNT requests a cycle, in turn.
//
//   request  -->  pick  -->  { grant, grant_index }        one grant per cycle, latency 1
//
// After a grant, the requesters above the granted one have priority. For example, with COUNT = 5
// and `request` 01011 in every cycle, the grants are 00001, 00010, 01000, 00001, ...
//
// `request` announces the lookup of the next cycle, and `grant` holds for that cycle. In `lane` the
// requesters are merge units, and a grant is one port of `pairs` for a cycle.
// Invariant: a request that stays is granted within COUNT cycles in which `stall` is low.
// Proof: tests/rtl/formal/arbiter.sby, by induction. The order of lookups never reaches a result:
// `merge` in python/zeton/reference.py only needs every pair to be looked up.

`default_nettype none

module arbiter #(
    parameter int COUNT = 12,
    localparam int INDEX_BITS = COUNT > 1 ? $clog2(COUNT) : 1
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire                   stall,        // No grant in the next cycle.
    input  wire  [COUNT-1:0]      request,
    output logic [COUNT-1:0]      grant,        // One-hot, or zero.
    output logic                  grant_valid,
    output logic [INDEX_BITS-1:0] grant_index   // Of the grant; 0 without one.
);

    logic [COUNT-1:0] above_last;  // Requesters above the one granted last.
    logic [COUNT-1:0] eligible, eligible_above;
    logic [COUNT-1:0] below_first, below_first_above;  // Mask below the lowest set bit.
    logic [COUNT-1:0] grant_next;

    always_comb begin
        eligible          = stall ? '0 : request;
        eligible_above    = eligible & above_last;
        below_first       = ~eligible & (eligible - COUNT'(1));
        below_first_above = ~eligible_above & (eligible_above - COUNT'(1));
        grant_next        = eligible_above != '0 ? eligible_above & ~(eligible_above - COUNT'(1))
                                                 : eligible & ~(eligible - COUNT'(1));
        grant_index       = '0;
        for (int i = 0; i < COUNT; i++) begin
            if (grant[i]) grant_index = grant_index | INDEX_BITS'(i);
        end
    end

    always_ff @(posedge clk) begin
        grant       <= grant_next;
        grant_valid <= eligible != '0;
        if (eligible != '0) begin
            above_last <= ~(grant_next | (eligible_above != '0 ? below_first_above : below_first));
        end
        if (rst) begin
            grant       <= '0;
            grant_valid <= 1'b0;
            above_last  <= '1;
        end
    end

`ifdef FORMAL
    // One requester, chosen freely and constant, never waits for COUNT cycles in a row.
    logic [INDEX_BITS-1:0]    requester;
    logic [$clog2(COUNT+1):0] waited;
    logic                     past_valid;

    // Requesters with priority over it: the bound on further waiting.
    logic [$clog2(COUNT+1):0] above_count, before_count;
    always_comb begin
        above_count = '0;
        for (int i = 0; i < COUNT; i++) above_count = above_count + 1'(above_last[i]);
        before_count = above_last[requester] ? requester + above_count - COUNT
                                             : requester + above_count;
    end

    initial past_valid = 1'b0;

    always_ff @(posedge clk) begin
        past_valid <= 1'b1;
        if (!past_valid) assume (rst);
        assume (requester < COUNT);
        requester <= requester;
        waited    <= rst || !request[requester] || grant_next[requester] ? '0
                   : stall ? waited : waited + 1'b1;

        if (past_valid) begin
            assert (waited + before_count < COUNT);
            assert ((~above_last & (~above_last + 1'b1)) == '0);
            // One grant, to a requester; no grant only without requests, or while stalled.
            assert ((grant & (grant - 1'b1)) == 0);
            assert (grant_valid == (grant != 0));
            if ($past(rst)) begin
                assert (grant == 0);
            end else begin
                assert ((grant & ~$past(request)) == 0);
                assert (grant_valid == ($past(request) != 0 && !$past(stall)));
            end
            if (grant_valid) assert (grant_index < COUNT && grant[grant_index]);
        end
        cover (past_valid && waited == COUNT - 1);
    end
`endif

endmodule

`default_nettype wire
