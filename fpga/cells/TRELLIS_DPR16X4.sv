// The LUT RAM of the ECP5: 16 words of four bits, written by the clock, read without one.

`default_nettype none

module TRELLIS_DPR16X4 #(
    parameter WCKMUX = "WCK",
    parameter WREMUX = "WRE",
    parameter logic [63:0] INITVAL = 64'd0     // Not modelled: no memory has initial content.
) (
    input  wire       WCK,
    input  wire       WRE,
    input  wire [3:0] WAD,
    input  wire [3:0] DI,
    input  wire [3:0] RAD,
    output wire [3:0] DO
);

    generate
        if (WCKMUX != "WCK" || WREMUX != "WRE") begin : refused
            $error("TRELLIS_DPR16X4: a mode that is not modelled");
        end
    endgenerate

    logic [3:0] words [0:15];

    always_ff @(posedge WCK) if (WRE) words[WAD] <= DI;

    assign DO = words[RAD];

endmodule

`default_nettype wire
