// ECP5: a flip-flop with a clock enable and a synchronous set or reset.
//
// Only what synthesis of this design makes of it: a rising clock, an LSR that goes before CE.

`default_nettype none

module TRELLIS_FF #(
    parameter GSR    = "ENABLED",
    parameter CEMUX  = "1",
    parameter CLKMUX = "CLK",
    parameter LSRMUX = "LSR",
    parameter REGSET = "RESET",
    parameter SRMODE = "LSR_OVER_CE"
) (
    input  wire  CLK,
    input  wire  CE,
    input  wire  LSR,
    input  wire  DI,
    output logic Q
);

    generate
        if (CLKMUX != "CLK" || LSRMUX != "LSR" || SRMODE != "LSR_OVER_CE") begin : refused
            $error("TRELLIS_FF: a mode that is not modelled");
        end
    endgenerate

    wire enabled = CEMUX == "1" || (CEMUX == "CE" && CE) || (CEMUX == "INV" && !CE);

    always_ff @(posedge CLK) begin
        if (LSR)          Q <= REGSET == "SET";
        else if (enabled) Q <= DI;
    end

endmodule

`default_nettype wire
