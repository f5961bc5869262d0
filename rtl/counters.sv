// Counts what happens, 64 bits each, and shows a copy of all counts that was taken in one cycle.
//
//   steps  -->  counts  -->  copy      every cycle; a step is in the counts one cycle later

`default_nettype none

module counters #(
    parameter int COUNTERS  = 9,
    parameter int STEP_BITS = 2
) (
    input  wire                           clk,
    input  wire                           rst,

    input  wire  [COUNTERS*STEP_BITS-1:0] steps,
    input  wire                           snapshot,
    output logic [COUNTERS*64-1:0]        copy
);

    generate
        for (genvar c = 0; c < COUNTERS; c++) begin : counter
            logic [63:0] count;
            always_ff @(posedge clk) begin
                count <= count + 64'(steps[c*STEP_BITS +: STEP_BITS]);
                if (snapshot) copy[c*64 +: 64] <= count;
                if (rst) begin
                    count            <= '0;
                    copy[c*64 +: 64] <= '0;
                end
            end
        end
    endgenerate

endmodule

`default_nettype wire
