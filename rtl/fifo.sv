// A queue of 2^DEPTH_LOG words in block RAM: what enters leaves, in order, once.
//
//   in  -->  memory  -->  fetched (the memory's register)  -->  out register      one word per cycle, latency 3
//
// The first word is offered without being asked for. `in_ready` and `out_valid` come from registers, so no path crosses
// the queue forwards; `out_ready` reaches the memory's read enable and nothing before it.

`default_nettype none

module fifo #(
    parameter int WIDTH     = 8,
    parameter int DEPTH_LOG = 4    // At least 1. It holds 2^DEPTH_LOG words, those in registers included.
) (
    input  wire                  clk,
    input  wire                  rst,

    input  wire                  in_valid,
    output logic                 in_ready,
    input  wire [WIDTH-1:0]      in_data,

    output logic                 out_valid,
    input  wire                  out_ready,
    output logic [WIDTH-1:0]     out_data,

    output logic [DEPTH_LOG:0]   level       // Words inside.
);

    // Pointers have one bit more than an address: equal means that the memory is empty, never that it is full.
    logic [DEPTH_LOG:0] write_pointer, read_pointer;
    logic               fetched_valid;
    wire  [WIDTH-1:0]   fetched_data;

    // A register takes the next word when it is empty, or when its own is being taken.
    wire put      = in_valid && in_ready;
    wire take     = out_valid && out_ready;
    wire out_free = !out_valid || out_ready;
    wire fetch    = write_pointer != read_pointer && (!fetched_valid || out_free);

    wire [DEPTH_LOG:0] level_next = level + (DEPTH_LOG + 1)'(put) - (DEPTH_LOG + 1)'(take);

    memory #(.WIDTH(WIDTH), .DEPTH_LOG(DEPTH_LOG)) store (
        .clk(clk),
        .write(put), .write_address(write_pointer[DEPTH_LOG-1:0]), .write_data(in_data),
        .read(fetch), .read_address(read_pointer[DEPTH_LOG-1:0]), .read_data(fetched_data)
    );

    always_ff @(posedge clk) begin
        level    <= level_next;
        in_ready <= !level_next[DEPTH_LOG];
        if (put)   write_pointer <= write_pointer + 1'b1;
        if (fetch) read_pointer  <= read_pointer + 1'b1;
        if (fetch)         fetched_valid <= 1'b1;
        else if (out_free) fetched_valid <= 1'b0;
        if (out_free) begin
            out_valid <= fetched_valid;
            out_data  <= fetched_data;
        end
        if (rst) begin
            level         <= '0;
            in_ready      <= 1'b0;
            write_pointer <= '0;
            read_pointer  <= '0;
            fetched_valid <= 1'b0;
            out_valid     <= 1'b0;
        end
    end

endmodule

`default_nettype wire
