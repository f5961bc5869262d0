// The flip-flop of the ECP5, with a clock enable and a synchronous set or reset.
//
// The model has the modes that synthesis of this design uses: a rising clock, LSR before CE.

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
