// A scoreboard of one word for proofs of queues: the place of a freely chosen word in the order.
//
// `follow` is free, so the proof holds for every word. For example, a word that enters a queue of
// two words has place 3; it has place 1 when it is the next to leave, and 0 after it left.

`default_nettype none

module followed_word #(
    parameter int WIDTH      = 8,
    parameter int LEVEL_BITS = 2
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire                   push,
    input  wire                   pop,
    input  wire  [WIDTH-1:0]      in_data,
    input  wire  [LEVEL_BITS-1:0] occupancy_next,

    output logic                  past_valid,
    output logic                  followed,   // The word was chosen.
    output logic [WIDTH-1:0]      word,
    output logic [LEVEL_BITS-1:0] place       // Words up to it, itself included.
);

    logic follow;   // Free: the word that enters now is chosen.

    initial past_valid = 1'b0;

    always_ff @(posedge clk) begin
        past_valid <= 1'b1;
        if (!past_valid) assume (rst);

        if (push && follow && !followed) begin
            followed <= 1'b1;
            word     <= in_data;
            place    <= occupancy_next;
        end else if (pop && place != 0) begin
            place <= place - 1'b1;
        end
        if (rst) begin
            followed <= 1'b0;
            place    <= '0;
        end
    end

endmodule

`default_nettype wire
