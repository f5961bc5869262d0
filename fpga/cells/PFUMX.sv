// ECP5: two LUTs of four bits make one of five.

`default_nettype none

module PFUMX (
    input  wire ALUT,
    input  wire BLUT,
    input  wire C0,
    output wire Z
);

    assign Z = C0 ? ALUT : BLUT;

endmodule

`default_nettype wire
