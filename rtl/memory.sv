// A simple dual-port block RAM: one port writes, one port reads.
//
//   write_address, write_data --> words --> read_data      one write, one read per cycle, latency 1
//
// `read_data` holds while `read` is low. A read of the address that is written in the same cycle
// gives either word, so the user keeps the two apart. A word that was never written is unknown.
// Small memories become LUT RAM. Test: tests/rtl/test_memory.py.

`default_nettype none

module memory #(
    parameter int WIDTH     = 8,
    parameter int DEPTH_LOG = 10   // 2^DEPTH_LOG words.
) (
    input  wire                  clk,

    input  wire                  write,
    input  wire [DEPTH_LOG-1:0]  write_address,
    input  wire [WIDTH-1:0]      write_data,

    input  wire                  read,
    input  wire [DEPTH_LOG-1:0]  read_address,
    output logic [WIDTH-1:0]     read_data
);

    (* no_rw_check *) logic [WIDTH-1:0] words [0:2**DEPTH_LOG-1];

    always_ff @(posedge clk) if (write) words[write_address] <= write_data;

    always_ff @(posedge clk) if (read) read_data <= words[read_address];

endmodule

`default_nettype wire
