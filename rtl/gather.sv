// Joins the words of all lanes into one stream, and tells where a batch ends.
//
//   words of lanes  -->  in turn  -->  queue  -->  { lane, word }       one word per cycle, latency 4
//
// After a lane's turn those behind it come first: a lane that has a word waits for one word of each other lane at most.
// The word of a mark is not passed on: its lane waits until all lanes have given theirs, and then one word BATCH with
// the batch's number since reset, the first is 0, ends the packet. So words of two batches never mix.

`default_nettype none

module gather #(
    parameter int LANES = 1
) (
    input  wire                 clk,
    input  wire                 rst,
    output wire                 idle,

    input  wire  [LANES-1:0]    word_valid,
    output wire  [LANES-1:0]    word_ready,
    input  wire  [LANES*28-1:0] word_data,

    output wire                 out_valid,
    input  wire                 out_ready,
    output wire  [31:0]         out_data,
    output wire                 out_last
);

    localparam logic [2:0] BATCH     = 7;   // The kind of a mark, too.
    localparam int         DEPTH_LOG = 4;

    logic [LANES-1:0] marked;               // Lanes that have given their mark.
    logic [LANES-1:0] behind;               // Those after the lane that had its turn last.
    logic [23:0]      batches;

    // Who is next: the lowest lane behind the last one, or the lowest of all.
    logic [LANES-1:0] marks, wants;
    wire  [LANES-1:0] among = (wants & behind) != '0 ? wants & behind : wants;
    wire  [LANES-1:0] turn  = among & ~(among - LANES'(1));

    logic [27:0] word;
    logic [3:0]  lane;

    always_comb begin
        word = '0;
        lane = '0;
        for (int l = 0; l < LANES; l++) begin
            marks[l] = word_valid[l] && word_data[l*28 + 24 +: 3] == BATCH && !marked[l];
            wants[l] = word_valid[l] && word_data[l*28 + 24 +: 3] != BATCH && !marked[l];
        end
        for (int l = 0; l < LANES; l++) begin
            if (turn[l]) begin
                word = word | word_data[l*28 +: 28];
                lane = lane | 4'(l);
            end
        end
    end

    // All have given their marks: the batch is over.
    wire        over     = &marked;
    wire        in_valid = over || wants != '0;
    wire        in_ready;
    wire [32:0] in_data  = over ? {1'b1, 5'b0, BATCH, batches} : {1'b0, lane, word};
    wire [DEPTH_LOG:0] level;

    assign word_ready = marks | (in_ready && !over ? turn : '0);

    fifo #(.WIDTH(33), .DEPTH_LOG(DEPTH_LOG)) joined (
        .clk, .rst,
        .in_valid, .in_ready, .in_data,
        .out_valid, .out_ready, .out_data({out_last, out_data}),
        .level
    );

    always_ff @(posedge clk) begin
        marked <= marked | marks;
        if (in_valid && in_ready) begin
            if (over) begin
                marked  <= '0;
                batches <= batches + 24'd1;
            end else begin
                behind <= ~((turn - LANES'(1)) | turn);
            end
        end
        if (rst) begin
            marked  <= '0;
            behind  <= '1;
            batches <= '0;
        end
    end

    assign idle = marked == '0 && level == '0;

endmodule

`default_nettype wire
