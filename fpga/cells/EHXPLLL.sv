// The PLL EHXPLLL of the ECP5: a black box in synthesis. In simulation the clock passes unchanged.

`default_nettype none

(* blackbox *)
module EHXPLLL #(
    parameter int CLKI_DIV     = 1,
    parameter int CLKFB_DIV    = 1,
    parameter int CLKOP_DIV    = 8,
    parameter int CLKOP_CPHASE = 0,
    parameter     CLKOP_ENABLE = "ENABLED",
    parameter     FEEDBK_PATH  = "CLKOP"
) (
    input  wire CLKI,
    input  wire CLKFB,
    input  wire RST,
    input  wire STDBY,
    input  wire PLLWAKESYNC,
    input  wire ENCLKOP,
    input  wire PHASESEL0,
    input  wire PHASESEL1,
    input  wire PHASEDIR,
    input  wire PHASESTEP,
    input  wire PHASELOADREG,
    output wire CLKOP,
    output wire LOCK
);

`ifndef SYNTHESIS
    assign CLKOP = CLKI;
    assign LOCK  = 1'b1;
`endif

endmodule

`default_nettype wire
