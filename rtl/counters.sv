// The performance counters: 64 bits each, and a snapshot of all of them taken in one cycle.
//
//   increments  -->  count  -->  snapshot_counts      every cycle, latency 1
//
// For example, with STEP_BITS = 2 a counter can grow by 3 in a cycle. The registers show the
// snapshot, so that the host reads counts of one moment. Test: tests/rtl/test_top.py.

`default_nettype none

module counters #(
    parameter int COUNTERS  = 9,
    parameter int STEP_BITS = 2
) (
    input  wire                           clk,
    input  wire                           rst,

    input  wire  [COUNTERS*STEP_BITS-1:0] increments,
    input  wire                           snapshot,
    output logic [COUNTERS*64-1:0]        snapshot_counts
);

    generate
        for (genvar c = 0; c < COUNTERS; c++) begin : counter
            logic [63:0] count;
            always_ff @(posedge clk) begin
                count <= count + 64'(increments[c*STEP_BITS +: STEP_BITS]);
                if (snapshot) snapshot_counts[c*64 +: 64] <= count;
                if (rst) begin
                    count                       <= '0;
                    snapshot_counts[c*64 +: 64] <= '0;
                end
            end
        end
    endgenerate

endmodule

`default_nettype wire
