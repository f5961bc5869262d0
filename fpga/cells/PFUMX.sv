// The multiplexer PFUMX of the ECP5: joins two LUTs of four inputs into one of five.

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
