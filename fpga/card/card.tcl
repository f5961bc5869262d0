# A bitstream for a data-centre card, by Vivado: XDMA, converters, the accelerator. Not run on a card, nor in Vivado.
#
#   vivado -mode batch -source fpga/card/card.tcl -tclargs PART LANES FOLDER
#
# PART: as xcu55c-fsvh2892-2L-e (Alveo U55C). The pins of PCIe come from the board's own constraints: give Vivado its board files.

set part   [lindex $argv 0]
set lanes  [lindex $argv 1]
set folder [lindex $argv 2]
set here   [file dirname [file normalize [info script]]]
set rtl    [file normalize $here/../../rtl]

create_project -force zeton $folder -part $part
add_files [glob $rtl/generated/*.sv $rtl/*.sv $here/packets.sv $here/card.v]
update_compile_order -fileset sources_1

create_bd_design system

# PCIe 3.0 x8: streams of 256 bits at 250 MHz, registers behind a BAR of 64 KiB.
create_bd_cell -type ip -vlnv xilinx.com:ip:xdma xdma
set_property -dict {
    CONFIG.mode_selection            Advanced
    CONFIG.pl_link_cap_max_link_width X8
    CONFIG.pl_link_cap_max_link_speed 8.0_GT/s
    CONFIG.axi_data_width            256_bit
    CONFIG.axisten_freq              250
    CONFIG.xdma_axi_intf_mm          AXI_Stream
    CONFIG.xdma_rnum_chnl            1
    CONFIG.xdma_wnum_chnl            1
    CONFIG.axilite_master_en         true
    CONFIG.axilite_master_size       64
    CONFIG.axilite_master_scale      Kilobytes
} [get_bd_cells xdma]

create_bd_cell -type ip -vlnv xilinx.com:ip:util_ds_buf refclk
set_property CONFIG.C_BUF_TYPE IBUFDSGTE [get_bd_cells refclk]
make_bd_intf_pins_external -name pcie_refclk [get_bd_intf_pins refclk/CLK_IN_D]
make_bd_intf_pins_external -name pcie        [get_bd_intf_pins xdma/pcie_mgt]
make_bd_pins_external      -name pcie_perstn [get_bd_pins xdma/sys_rst_n]
connect_bd_net [get_bd_pins refclk/IBUF_OUT]      [get_bd_pins xdma/sys_clk_gt]
connect_bd_net [get_bd_pins refclk/IBUF_DS_ODIV2] [get_bd_pins xdma/sys_clk]

# The accelerator's own clock: lower it if timing is not met.
create_bd_cell -type ip -vlnv xilinx.com:ip:clk_wiz clock
set_property -dict {
    CONFIG.PRIM_SOURCE                No_buffer
    CONFIG.PRIM_IN_FREQ               250
    CONFIG.CLKOUT1_REQUESTED_OUT_FREQ 250
    CONFIG.RESET_TYPE                 ACTIVE_LOW
} [get_bd_cells clock]
connect_bd_net [get_bd_pins xdma/axi_aclk]    [get_bd_pins clock/clk_in1]
connect_bd_net [get_bd_pins xdma/axi_aresetn] [get_bd_pins clock/resetn]

create_bd_cell -type ip -vlnv xilinx.com:ip:proc_sys_reset reset
connect_bd_net [get_bd_pins clock/clk_out1]   [get_bd_pins reset/slowest_sync_clk]
connect_bd_net [get_bd_pins clock/locked]     [get_bd_pins reset/dcm_locked]
connect_bd_net [get_bd_pins xdma/axi_aresetn] [get_bd_pins reset/ext_reset_in]

create_bd_cell -type module -reference card card
set_property CONFIG.LANES $lanes [get_bd_cells card]
connect_bd_net [get_bd_pins clock/clk_out1]           [get_bd_pins card/clk]
connect_bd_net [get_bd_pins reset/peripheral_aresetn] [get_bd_pins card/rst_n]

# Streams: a FIFO takes each to the other clock, a converter to the other width.
proc stream {name from to clock_from reset_from clock_to reset_to bytes} {
    create_bd_cell -type ip -vlnv xilinx.com:ip:axis_data_fifo ${name}_fifo
    set_property -dict {CONFIG.IS_ACLK_ASYNC 1 CONFIG.FIFO_DEPTH 512} [get_bd_cells ${name}_fifo]
    create_bd_cell -type ip -vlnv xilinx.com:ip:axis_dwidth_converter ${name}_width
    set_property CONFIG.M_TDATA_NUM_BYTES $bytes [get_bd_cells ${name}_width]
    connect_bd_intf_net [get_bd_intf_pins $from]                [get_bd_intf_pins ${name}_fifo/S_AXIS]
    connect_bd_intf_net [get_bd_intf_pins ${name}_fifo/M_AXIS]  [get_bd_intf_pins ${name}_width/S_AXIS]
    connect_bd_intf_net [get_bd_intf_pins ${name}_width/M_AXIS] [get_bd_intf_pins $to]
    connect_bd_net [get_bd_pins $clock_from] [get_bd_pins ${name}_fifo/s_axis_aclk]
    connect_bd_net [get_bd_pins $reset_from] [get_bd_pins ${name}_fifo/s_axis_aresetn]
    connect_bd_net [get_bd_pins $clock_to]   [get_bd_pins ${name}_fifo/m_axis_aclk] [get_bd_pins ${name}_width/aclk]
    connect_bd_net [get_bd_pins $reset_to]   [get_bd_pins ${name}_width/aresetn]
}
stream h2c xdma/M_AXIS_H2C_0 card/s_axis_h2c xdma/axi_aclk xdma/axi_aresetn clock/clk_out1 reset/peripheral_aresetn 8
stream c2h card/m_axis_c2h xdma/S_AXIS_C2H_0 clock/clk_out1 reset/peripheral_aresetn xdma/axi_aclk xdma/axi_aresetn 32

create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect registers
set_property -dict {CONFIG.NUM_SI 1 CONFIG.NUM_MI 1 CONFIG.NUM_CLKS 2} [get_bd_cells registers]
connect_bd_intf_net [get_bd_intf_pins xdma/M_AXI_LITE]   [get_bd_intf_pins registers/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins registers/M00_AXI] [get_bd_intf_pins card/s_axil]
connect_bd_net [get_bd_pins xdma/axi_aclk]    [get_bd_pins registers/aclk]
connect_bd_net [get_bd_pins clock/clk_out1]   [get_bd_pins registers/aclk1]
connect_bd_net [get_bd_pins xdma/axi_aresetn] [get_bd_pins registers/aresetn]
assign_bd_address -offset 0 -range 64K [get_bd_addr_segs card/s_axil/reg0]

validate_bd_design
make_wrapper -files [get_files system.bd] -top -import
set_property top system_wrapper [current_fileset]

launch_runs impl_1 -to_step write_bitstream -jobs 4
wait_on_run impl_1
open_run impl_1
report_utilization    -file $folder/utilization.txt
report_timing_summary -file $folder/timing.txt
