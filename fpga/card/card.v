// The card's top for XDMA: a DMA stream each way, and the registers behind a BAR. Not run on a card.
//
//   s_axis_h2c  -->  packets  -->  top  -->  m_axis_c2h      words unchanged
//   s_axil      ---------------->  top
//
// Widths are the accelerator's own; card.tcl puts converters of width and clock between these ports
// and the PCIe block. Every packet has a header (packets.sv). CONTROL.reset also ends any packet.
// The language is Verilog 2001, because Vivado allows nothing newer as a module of a block design.

`default_nettype none

module card #(
    parameter LANES       = 8,
    parameter ID_BITS     = 17,
    parameter BANK_BITS   = 15,
    parameter UNITS       = 12,
    parameter SLOTS       = 16,
    parameter WIDE_UNITS  = 4,
    parameter WIDE_SLOTS  = 32,
    parameter BRIDGE_BITS = 16,
    parameter BYTES_LOG   = 11
) (
    input  wire         clk,
    input  wire         rst_n,

    input  wire         s_axis_h2c_tvalid,
    output wire         s_axis_h2c_tready,
    input  wire  [63:0] s_axis_h2c_tdata,

    output wire         m_axis_c2h_tvalid,
    input  wire         m_axis_c2h_tready,
    output wire  [31:0] m_axis_c2h_tdata,
    output wire  [3:0]  m_axis_c2h_tkeep,
    output wire         m_axis_c2h_tlast,

    input  wire         s_axil_awvalid,
    output wire         s_axil_awready,
    input  wire  [31:0] s_axil_awaddr,
    input  wire  [2:0]  s_axil_awprot,
    input  wire         s_axil_wvalid,
    output wire         s_axil_wready,
    input  wire  [31:0] s_axil_wdata,
    input  wire  [3:0]  s_axil_wstrb,
    output wire         s_axil_bvalid,
    input  wire         s_axil_bready,
    output wire  [1:0]  s_axil_bresp,
    input  wire         s_axil_arvalid,
    output wire         s_axil_arready,
    input  wire  [31:0] s_axil_araddr,
    input  wire  [2:0]  s_axil_arprot,
    output wire         s_axil_rvalid,
    input  wire         s_axil_rready,
    output wire  [31:0] s_axil_rdata,
    output wire  [1:0]  s_axil_rresp
);

    localparam [7:0] CONTROL = 8'h10;
    localparam [4:0] RESET_CYCLES = 5'd16;   // As in `top`, which drops text meanwhile.

    reg rst;
    always @(posedge clk) rst <= !rst_n;

    // A write of CONTROL.reset, observed at the bus: address and data, in either order.
    reg        is_control, control_bit;
    reg  [4:0] restart_left;
    wire       responded = s_axil_bvalid && s_axil_bready;

    always @(posedge clk) begin
        if (s_axil_awvalid && s_axil_awready) is_control  <= s_axil_awaddr[7:0] == CONTROL;
        if (s_axil_wvalid && s_axil_wready)   control_bit <= s_axil_wdata[0] && s_axil_wstrb[0];
        if (responded && is_control && control_bit) restart_left <= RESET_CYCLES;
        else if (restart_left != 5'd0)             restart_left <= restart_left - 5'd1;
        if (rst) restart_left <= 5'd0;
    end

    wire        text_valid, text_ready, text_last;
    wire [63:0] text_data;

    packets host_packets (
        .clk(clk), .rst(rst), .restart(restart_left != 5'd0),
        .in_valid(s_axis_h2c_tvalid), .in_ready(s_axis_h2c_tready), .in_data(s_axis_h2c_tdata),
        .out_valid(text_valid), .out_ready(text_ready), .out_data(text_data), .out_last(text_last)
    );

    assign m_axis_c2h_tkeep = 4'hF;

    top #(
        .LANES(LANES), .ID_BITS(ID_BITS), .BANK_BITS(BANK_BITS), .UNITS(UNITS), .SLOTS(SLOTS),
        .WIDE_UNITS(WIDE_UNITS), .WIDE_SLOTS(WIDE_SLOTS), .BRIDGE_BITS(BRIDGE_BITS), .BYTES_LOG(BYTES_LOG)
    ) accelerator (
        .clk(clk), .rst(rst),
        .text_axis_tvalid(text_valid), .text_axis_tready(text_ready),
        .text_axis_tdata(text_data), .text_axis_tlast(text_last),
        .word_axis_tvalid(m_axis_c2h_tvalid), .word_axis_tready(m_axis_c2h_tready),
        .word_axis_tdata(m_axis_c2h_tdata), .word_axis_tlast(m_axis_c2h_tlast),
        .control_axil_awvalid(s_axil_awvalid), .control_axil_awready(s_axil_awready),
        .control_axil_awaddr(s_axil_awaddr[7:0]), .control_axil_awprot(s_axil_awprot),
        .control_axil_wvalid(s_axil_wvalid), .control_axil_wready(s_axil_wready),
        .control_axil_wdata(s_axil_wdata), .control_axil_wstrb(s_axil_wstrb),
        .control_axil_bvalid(s_axil_bvalid), .control_axil_bready(s_axil_bready),
        .control_axil_bresp(s_axil_bresp),
        .control_axil_arvalid(s_axil_arvalid), .control_axil_arready(s_axil_arready),
        .control_axil_araddr(s_axil_araddr[7:0]), .control_axil_arprot(s_axil_arprot),
        .control_axil_rvalid(s_axil_rvalid), .control_axil_rready(s_axil_rready),
        .control_axil_rdata(s_axil_rdata), .control_axil_rresp(s_axil_rresp)
    );

endmodule

`default_nettype wire
