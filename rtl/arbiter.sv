// Picks one of COUNT askers, in turn: after a grant, those behind the granted one come first.
//
//   want  -->  pick  -->  { grant, grant_index }        one grant per cycle, latency 1
//
// `want` says who will have something to ask in the next cycle; the grant holds for that cycle, and
// who is granted must have asked by then. An asker that keeps wanting is granted within COUNT cycles.
// Part of `merge` in python/jeton/reference.py only in that pairs are looked up.

`default_nettype none

module arbiter #(
    parameter int COUNT = 12,
    localparam int INDEX_BITS = COUNT > 1 ? $clog2(COUNT) : 1
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire  [COUNT-1:0]      want,
    output logic [COUNT-1:0]      grant,        // One bit at most.
    output logic                  grant_valid,
    output logic [INDEX_BITS-1:0] grant_index   // Of the last grant, once there was one.
);

    logic [COUNT-1:0]      behind;  // Those after the one granted last.
    logic [COUNT-1:0]      among;
    logic [COUNT-1:0]      picked;
    logic [INDEX_BITS-1:0] picked_index;

    always_comb begin
        among        = (want & behind) != '0 ? want & behind : want;
        picked       = among & ~(among - COUNT'(1));
        picked_index = '0;
        for (int i = 0; i < COUNT; i++) begin
            if (picked[i]) picked_index = picked_index | INDEX_BITS'(i);
        end
    end

    always_ff @(posedge clk) begin
        grant       <= picked;
        grant_valid <= want != '0;
        if (want != '0) begin
            grant_index <= picked_index;
            behind      <= ~((picked - COUNT'(1)) | picked);
        end
        if (rst) begin
            grant       <= '0;
            grant_valid <= 1'b0;
            grant_index <= '0;
            behind      <= '1;
        end
    end

`ifdef FORMAL
    // One asker at will, always the same, is granted before it has waited for COUNT cycles in a row.
    logic [INDEX_BITS-1:0]    asker;
    logic [$clog2(COUNT+1):0] waited;
    logic                     past_valid;

    initial past_valid = 1'b0;

    always_ff @(posedge clk) begin
        past_valid <= 1'b1;
        if (!past_valid) assume (rst);
        assume (asker < COUNT);
        asker  <= asker;
        waited <= want[asker] && !picked[asker] && !rst ? waited + 1'b1 : '0;

        if (past_valid) begin
            assert (waited < COUNT);
            // One grant, to one who wanted it, and to nobody only if nobody did.
            assert ((grant & (grant - 1'b1)) == 0);
            assert (grant_valid == (grant != 0));
            if ($past(rst)) assert (grant == 0);
            else            assert ((grant & ~$past(want)) == 0 && grant_valid == ($past(want) != 0));
            if (grant_valid) assert (grant_index < COUNT && grant[grant_index]);
        end
        cover (past_valid && waited == COUNT - 1);
    end
`endif

endmodule

`default_nettype wire
