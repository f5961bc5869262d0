// Picks one of COUNT askers, in turn: after a grant, those behind the granted one come first.
//
//   want  -->  pick  -->  { grant, grant_index }        one grant per cycle, latency 1
//
// `want` says who will have something to ask in the next cycle; the grant holds for that cycle, and
// who is granted must have asked by then. An asker that keeps wanting is granted within COUNT cycles,
// those not counted in which somebody else has the `hold` of what is granted.
// Part of `merge` in python/zeton/reference.py only in that pairs are looked up.

`default_nettype none

module arbiter #(
    parameter int COUNT = 12,
    localparam int INDEX_BITS = COUNT > 1 ? $clog2(COUNT) : 1
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire                   hold,         // Nobody is picked.
    input  wire  [COUNT-1:0]      want,
    output logic [COUNT-1:0]      grant,        // One bit at most.
    output logic                  grant_valid,
    output logic [INDEX_BITS-1:0] grant_index   // Of the grant; 0 if there is none.
);

    logic [COUNT-1:0] behind;  // Those after the one granted last.
    logic [COUNT-1:0] wants, later;
    logic [COUNT-1:0] below_first, below_later;  // Those before the first of them.
    logic [COUNT-1:0] picked;

    always_comb begin
        wants       = hold ? '0 : want;
        later       = wants & behind;
        below_first = ~wants & (wants - COUNT'(1));
        below_later = ~later & (later - COUNT'(1));
        picked      = later != '0 ? later & ~(later - COUNT'(1)) : wants & ~(wants - COUNT'(1));
        grant_index = '0;
        for (int i = 0; i < COUNT; i++) begin
            if (grant[i]) grant_index = grant_index | INDEX_BITS'(i);
        end
    end

    always_ff @(posedge clk) begin
        grant       <= picked;
        grant_valid <= wants != '0;
        if (wants != '0) behind <= ~(picked | (later != '0 ? below_later : below_first));
        if (rst) begin
            grant       <= '0;
            grant_valid <= 1'b0;
            behind      <= '1;
        end
    end

`ifdef FORMAL
    // One asker at will, always the same, is granted before it has waited for COUNT cycles in a row.
    logic [INDEX_BITS-1:0]    asker;
    logic [$clog2(COUNT+1):0] waited;
    logic                     past_valid;

    // How many come before it, which is how often it may still have to wait.
    logic [$clog2(COUNT+1):0] after, sooner;
    always_comb begin
        after = '0;
        for (int i = 0; i < COUNT; i++) after = after + 1'(behind[i]);
        sooner = behind[asker] ? asker + after - COUNT : asker + after;
    end

    initial past_valid = 1'b0;

    always_ff @(posedge clk) begin
        past_valid <= 1'b1;
        if (!past_valid) assume (rst);
        assume (asker < COUNT);
        asker  <= asker;
        waited <= rst || !want[asker] || picked[asker] ? '0 : hold ? waited : waited + 1'b1;

        if (past_valid) begin
            assert (waited + sooner < COUNT);
            assert ((~behind & (~behind + 1'b1)) == '0);
            // One grant, to one who wanted it, and to nobody only if nobody did.
            assert ((grant & (grant - 1'b1)) == 0);
            assert (grant_valid == (grant != 0));
            if ($past(rst)) assert (grant == 0);
            else            assert ((grant & ~$past(want)) == 0 && grant_valid == ($past(want) != 0 && !$past(hold)));
            if (grant_valid) assert (grant_index < COUNT && grant[grant_index]);
        end
        cover (past_valid && waited == COUNT - 1);
    end
`endif

endmodule

`default_nettype wire
