// ECP5: two LUTs of five bits or more make one with a bit more.

`default_nettype none

module L6MUX21 (
    input  wire D0,
    input  wire D1,
    input  wire SD,
    output wire Z
);

    assign Z = SD ? D1 : D0;

endmodule

`default_nettype wire
