// The LUT4 of the ECP5: any function of four bits. For example, INIT 8000 is A & B & C & D.

`default_nettype none

module LUT4 #(
    parameter logic [15:0] INIT = 16'h0000
) (
    input  wire A,
    input  wire B,
    input  wire C,
    input  wire D,
    output wire Z
);

    assign Z = INIT[{D, C, B, A}];

endmodule

`default_nettype wire
