// A first-word-fall-through FIFO in block RAM: 2^DEPTH_LOG words leave in the order they entered.
//
//   in --> memory --> fetched (the memory's register)  -->  out    one word per cycle, latency 3
//
// `in_ready` and `out_valid` are registers, so no combinational path crosses the FIFO forwards;
// `out_ready` reaches the memory's read enable and nothing before it. For example, a word pushed in
// cycle 0 into an empty FIFO is offered in cycle 3, while `occupancy` is 1 from cycle 1 on.
//
// Invariant: order, no loss, no word or room withheld, offers stay until taken.
// Proof: tests/rtl/formal/fifo.sby, by induction. Test: tests/rtl/test_fifo.py.

`default_nettype none

module fifo #(
    parameter int WIDTH     = 8,
    parameter int DEPTH_LOG = 4    // At least 1. The capacity, 2^DEPTH_LOG, includes the registers.
) (
    input  wire                  clk,
    input  wire                  rst,

    input  wire                  in_valid,
    output logic                 in_ready,
    input  wire [WIDTH-1:0]      in_data,

    output logic                 out_valid,
    input  wire                  out_ready,
    output logic [WIDTH-1:0]     out_data,

    output logic [DEPTH_LOG:0]   occupancy   // Words inside.
);

    // Pointers have one bit more than an address: equal means an empty memory, never a full one.
    logic [DEPTH_LOG:0] write_pointer, read_pointer;
    logic               fetched_valid;
    wire  [WIDTH-1:0]   fetched_data;

    // A register takes the next word when it is empty, or when its own word leaves.
    wire push     = in_valid && in_ready;
    wire pop      = out_valid && out_ready;
    wire out_free = !out_valid || out_ready;
    wire fetch    = write_pointer != read_pointer && (!fetched_valid || out_free);

    wire [DEPTH_LOG:0] occupancy_next = occupancy + (DEPTH_LOG + 1)'(push) - (DEPTH_LOG + 1)'(pop);

    memory #(.WIDTH(WIDTH), .DEPTH_LOG(DEPTH_LOG)) store (
        .clk(clk),
        .write(push), .write_address(write_pointer[DEPTH_LOG-1:0]), .write_data(in_data),
        .read(fetch), .read_address(read_pointer[DEPTH_LOG-1:0]), .read_data(fetched_data)
    );

    always_ff @(posedge clk) begin
        occupancy <= occupancy_next;
        in_ready  <= !occupancy_next[DEPTH_LOG];
        if (push)  write_pointer <= write_pointer + 1'b1;
        if (fetch) read_pointer  <= read_pointer + 1'b1;
        if (fetch)         fetched_valid <= 1'b1;
        else if (out_free) fetched_valid <= 1'b0;
        if (out_free) begin
            out_valid <= fetched_valid;
            out_data  <= fetched_data;
        end
        if (rst) begin
            occupancy     <= '0;
            in_ready      <= 1'b0;
            write_pointer <= '0;
            read_pointer  <= '0;
            fetched_valid <= 1'b0;
            out_valid     <= 1'b0;
        end
    end

`ifdef FORMAL
    // One word, chosen freely, leaves in its place and unchanged; so every word does.
    wire                 past_valid, followed;
    wire [WIDTH-1:0]     word;
    wire [DEPTH_LOG:0]   place;
    logic [WIDTH-1:0]    found;    // The word at that place.
    logic [1:0]          waited;   // Cycles with words inside and none offered.

    followed_word #(.WIDTH(WIDTH), .LEVEL_BITS(DEPTH_LOG + 1)) proof (
        .clk, .rst, .push, .pop, .in_data, .occupancy_next, .past_valid, .followed, .word, .place
    );
    stays #(.WIDTH(WIDTH)) offers (.clk, .rst, .valid(out_valid), .ready(out_ready), .data(out_data));

    wire [DEPTH_LOG:0]   stored   = write_pointer - read_pointer;
    wire [DEPTH_LOG:0]   fetched  = (DEPTH_LOG + 1)'(fetched_valid) + (DEPTH_LOG + 1)'(out_valid);
    wire [DEPTH_LOG:0]   in_store = read_pointer + place - fetched - 1'b1;

    always_comb begin
        if (out_valid && place == 1)              found = out_data;
        else if (place != 0 && place <= fetched)  found = fetched_data;
        else                                      found = store.words[in_store[DEPTH_LOG-1:0]];
    end

    always_ff @(posedge clk) begin
        waited <= occupancy != 0 && !out_valid ? waited + 1'b1 : '0;
        if (rst) waited <= '0;

        if (past_valid) begin
            // Order: no word is lost, made up or overtaken.
            if (place == 1 && pop) assert (out_data == word);
            if (place != 0) assert (found == word && place <= occupancy && followed);
            assert (stored <= occupancy && occupancy == stored + fetched);
            assert (occupancy <= (DEPTH_LOG + 1)'(2**DEPTH_LOG));
            // Liveness: neither room nor a word is withheld.
            assert (!in_ready || !occupancy[DEPTH_LOG]);
            if (!$past(rst)) assert (in_ready || occupancy[DEPTH_LOG]);
            assert (waited <= 2);
        end
        cover (past_valid && followed && place == 0 && occupancy[DEPTH_LOG]);
    end
`endif

endmodule

`default_nettype wire
