// The board's top: the accelerator on a ULX3S (LFE5U-85F), 50 MHz, with a USB serial port as the
// link.
//
//   ftdi_txd  -->  link  -->  top  -->  link  -->  ftdi_rxd      2 Mbaud
//
// FIRE1 resets everything but the tables. Pins: ulx3s.lpf, from the board's public constraints. For
// example, `--card uart:/dev/ttyUSB0` of the command line talks to it.
// Not run on a board: simulated over these pins (tests/rtl/test_board.py), placed and routed.

`default_nettype none

module ulx3s #(
    parameter int LANES       = 1,
    parameter int ID_BITS     = 13,
    parameter int BANK_BITS   = 11,
    parameter int UNITS       = 12,
    parameter int SLOTS       = 16,
    parameter int WIDE_UNITS  = 4,
    parameter int WIDE_SLOTS  = 32,
    parameter int BRIDGE_BITS = 14,
    parameter int BYTES_LOG   = 11,
    parameter int BIT_CYCLES  = 25      // 50 MHz / 2 Mbaud.
) (
    input  wire        clk_25mhz,
    input  wire        button_fire1,
    input  wire        ftdi_txd,        // From the host.
    output wire        ftdi_rxd,        // To the host.
    output logic [7:0] led,
    output wire        wifi_gpio0       // High: the board's other chip leaves the FPGA alone.
);

    assign wifi_gpio0 = 1'b1;

    // 25 MHz * 2 = 50 MHz; the oscillator inside runs at 600.
    wire clk, locked;

    EHXPLLL #(
        .CLKI_DIV(1), .CLKFB_DIV(2), .CLKOP_DIV(12), .CLKOP_CPHASE(5),
        .CLKOP_ENABLE("ENABLED"), .FEEDBK_PATH("CLKOP")
    ) clock (
        .CLKI(clk_25mhz), .CLKFB(clk), .CLKOP(clk), .LOCK(locked),
        .RST(1'b0), .STDBY(1'b0), .PLLWAKESYNC(1'b0), .ENCLKOP(1'b0),
        .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b0), .PHASESTEP(1'b0), .PHASELOADREG(1'b0)
    );

    // Reset until the clock has been locked for 255 cycles; registers of an ECP5 start as 0.
    logic [2:0] button_sync;
    logic [7:0] locked_cycles;
    logic       rst;

    always_ff @(posedge clk) begin
        button_sync <= {button_sync[1:0], button_fire1 || !locked};
        if (button_sync[2])         locked_cycles <= '0;
        else if (locked_cycles != '1) locked_cycles <= locked_cycles + 8'd1;
        rst <= locked_cycles != '1;
    end

    wire        text_valid, text_ready, text_last, word_valid, word_ready;
    wire [63:0] text_data;
    wire [31:0] word_data, write_data, read_data;
    wire        aw_valid, aw_ready, w_valid, w_ready, b_valid, b_ready, ar_valid, ar_ready, r_valid, r_ready;
    wire [7:0]  address;

    link #(.BIT_CYCLES(BIT_CYCLES)) host_link (
        .clk, .rst, .line_in(ftdi_txd), .line_out(ftdi_rxd),
        .text_axis_tvalid(text_valid), .text_axis_tready(text_ready),
        .text_axis_tdata(text_data), .text_axis_tlast(text_last),
        .word_axis_tvalid(word_valid), .word_axis_tready(word_ready), .word_axis_tdata(word_data),
        .control_axil_awvalid(aw_valid), .control_axil_awready(aw_ready),
        .control_axil_wvalid(w_valid), .control_axil_wready(w_ready), .control_axil_wdata(write_data),
        .control_axil_bvalid(b_valid), .control_axil_bready(b_ready),
        .control_axil_arvalid(ar_valid), .control_axil_arready(ar_ready), .control_axil_address(address),
        .control_axil_rvalid(r_valid), .control_axil_rready(r_ready), .control_axil_rdata(read_data)
    );

    top #(
        .LANES(LANES), .ID_BITS(ID_BITS), .BANK_BITS(BANK_BITS), .UNITS(UNITS), .SLOTS(SLOTS),
        .WIDE_UNITS(WIDE_UNITS), .WIDE_SLOTS(WIDE_SLOTS), .BRIDGE_BITS(BRIDGE_BITS), .BYTES_LOG(BYTES_LOG)
    ) accelerator (
        .clk, .rst,
        .text_axis_tvalid(text_valid), .text_axis_tready(text_ready),
        .text_axis_tdata(text_data), .text_axis_tlast(text_last),
        .word_axis_tvalid(word_valid), .word_axis_tready(word_ready),
        .word_axis_tdata(word_data), .word_axis_tlast(),
        .control_axil_awvalid(aw_valid), .control_axil_awready(aw_ready),
        .control_axil_awaddr(address), .control_axil_awprot(3'd0),
        .control_axil_wvalid(w_valid), .control_axil_wready(w_ready),
        .control_axil_wdata(write_data), .control_axil_wstrb(4'hF),
        .control_axil_bvalid(b_valid), .control_axil_bready(b_ready), .control_axil_bresp(),
        .control_axil_arvalid(ar_valid), .control_axil_arready(ar_ready),
        .control_axil_araddr(address), .control_axil_arprot(3'd0),
        .control_axil_rvalid(r_valid), .control_axil_rready(r_ready),
        .control_axil_rdata(read_data), .control_axil_rresp()
    );

    // LEDs from 0: clock, text valid, text stalled, word valid, word stalled, 0, register access,
    // reset.
    logic [24:0] ticks;

    always_ff @(posedge clk) begin
        ticks <= ticks + 25'd1;
        led   <= {
            rst, ar_valid || aw_valid, 1'b0, word_valid && !word_ready, word_valid,
            text_valid && !text_ready, text_valid, ticks[24]
        };
    end

endmodule

`default_nettype wire
