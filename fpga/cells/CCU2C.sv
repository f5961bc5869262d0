// The carry cell CCU2C of the ECP5: two bits of a carry chain.
//
// Each bit is a LUT of four inputs: the sum without its carry. Where it is 1 the carry propagates;
// otherwise the LUT of the two lower inputs is the carry. For example, INIT 96AA with C = 0 and D =
// 1 adds A and B.

`default_nettype none

module CCU2C #(
    parameter logic [15:0] INIT0 = 16'h0000,
    parameter logic [15:0] INIT1 = 16'h0000,
    parameter INJECT1_0 = "YES",
    parameter INJECT1_1 = "YES"
) (
    input  wire CIN,
    input  wire A0, input wire B0, input wire C0, input wire D0,
    input  wire A1, input wire B1, input wire C1, input wire D1,
    output wire S0,
    output wire S1,
    output wire COUT
);

    wire sum_0   = INIT0[{D0, C0, B0, A0}];
    wire sum_1   = INIT1[{D1, C1, B1, A1}];
    wire make_0  = INIT0[{2'b00, B0, A0}] && INJECT1_0 == "NO";
    wire make_1  = INIT1[{2'b00, B1, A1}] && INJECT1_1 == "NO";
    wire carry_0 = sum_0 ? CIN : make_0;

    assign S0   = sum_0 ^ (CIN && INJECT1_0 == "NO");
    assign S1   = sum_1 ^ (carry_0 && INJECT1_1 == "NO");
    assign COUT = sum_1 ? carry_0 : make_1;

endmodule

`default_nettype wire
