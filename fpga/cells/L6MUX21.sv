// The multiplexer L6MUX21 of the ECP5: joins two LUTs of five inputs or more into one with one
// more.

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
