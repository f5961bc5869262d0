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

`ifdef FORMAL
    // Any one word is followed: it leaves as the same one in the count of words, unchanged. So all do.
    logic                follow;   // Free: the word that enters now is the one.
    logic                followed;
    logic [WIDTH-1:0]    word;     // The one,
    logic [DEPTH_LOG:0]  place;    // how many leave until it has left, itself included; zero before and after,
    logic [WIDTH-1:0]    found;    // and what is at its place.
    logic [1:0]          waited;   // Cycles with words inside and none offered.
    logic                past_valid;

    wire [DEPTH_LOG:0]   stored   = write_pointer - read_pointer;
    wire [DEPTH_LOG:0]   fetched  = (DEPTH_LOG + 1)'(fetched_valid) + (DEPTH_LOG + 1)'(out_valid);
    wire [DEPTH_LOG:0]   in_store = read_pointer + place - fetched - 1'b1;

    always_comb begin
        if (out_valid && place == 1)              found = out_data;
        else if (place != 0 && place <= fetched)  found = fetched_data;
        else                                      found = store.words[in_store[DEPTH_LOG-1:0]];
    end

    initial past_valid = 1'b0;

    always_ff @(posedge clk) begin
        past_valid <= 1'b1;
        if (!past_valid) assume (rst);

        if (put && follow && !followed) begin
            followed <= 1'b1;
            word     <= in_data;
            place    <= level_next;
        end else if (take && place != 0) begin
            place <= place - 1'b1;
        end
        waited <= level != 0 && !out_valid ? waited + 1'b1 : '0;
        if (rst) begin
            followed <= 1'b0;
            place    <= '0;
            waited   <= '0;
        end

        if (past_valid) begin
            // Nothing is lost, made up or turned around.
            if (place == 1 && take) assert (out_data == word);
            if (place != 0) assert (found == word && place <= level && followed);
            assert (stored <= level && level == stored + fetched && level <= (DEPTH_LOG + 1)'(2**DEPTH_LOG));
            // No room is held back, and no word.
            assert (!in_ready || !level[DEPTH_LOG]);
            if (!$past(rst)) assert (in_ready || level[DEPTH_LOG]);
            assert (waited <= 2);
            // What is offered stays until it is taken.
            if (!$past(rst) && $past(out_valid && !out_ready)) assert (out_valid && out_data == $past(out_data));
        end
        cover (past_valid && followed && place == 0 && level[DEPTH_LOG]);
    end
`endif

endmodule

`default_nettype wire
