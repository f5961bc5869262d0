// The word merger: joins the words of all lanes into one stream, round robin, batch by batch.
//
//   word_t of lanes --> arbitration --> FIFO --> { lane, word_t }    one word per cycle, latency 4
//
// For example, with two lanes: lane 0 gives {last, ID, 259} and its mark, lane 1 only its mark. The
// stream is 08000103, then 07000000 with `out_last`, the BATCH word of batch 0 since reset.
//
// A lane's mark is not passed on. Its lane waits until all lanes have given theirs; then one BATCH
// word ends the packet, so the words of two batches never mix.
//
// Invariant: the words of a lane keep their order, and a lane with a word waits for one word of
// each other lane at most. Proof: tests/rtl/formal/gather.sby, by induction. Test:
// tests/rtl/test_top.py.

`default_nettype none

module gather
    import zeton_pkg::*;
#(
    parameter int LANES = 1
) (
    input  wire                    clk,
    input  wire                    rst,
    output wire                    idle,

    input  wire  [LANES-1:0]       word_valid,
    output wire  [LANES-1:0]       word_ready,
    input  wire word_t [LANES-1:0] word_data,

    output wire                    out_valid,
    input  wire                    out_ready,
    output wire  [31:0]            out_data,
    output wire                    out_last
);

    localparam int DEPTH_LOG = 4;

    logic [LANES-1:0] mark_seen;            // Lanes that have given their mark.
    logic [LANES-1:0] above_last;           // Lanes above the one granted last.
    logic [23:0]      batch_count;

    // Arbitration: the lowest lane above the last one, or the lowest of all.
    logic [LANES-1:0] marks, requests;
    wire  [LANES-1:0] eligible = (requests & above_last) != '0 ? requests & above_last : requests;
    wire  [LANES-1:0] grant    = eligible & ~(eligible - LANES'(1));

    logic [WORD_BITS-1:0] word;
    logic [3:0]           lane;

    always_comb begin
        word = '0;
        lane = '0;
        for (int l = 0; l < LANES; l++) begin
            marks[l]    = word_valid[l] && word_data[l].kind == WORD_BATCH && !mark_seen[l];
            requests[l] = word_valid[l] && word_data[l].kind != WORD_BATCH && !mark_seen[l];
        end
        for (int l = 0; l < LANES; l++) begin
            if (grant[l]) begin
                word = word | word_data[l];
                lane = lane | 4'(l);
            end
        end
    end

    // The batch is done when all lanes have given their marks.
    wire        batch_done = &mark_seen;
    wire        in_valid   = batch_done || requests != '0;
    wire        in_ready;
    wire [32:0] in_data    = batch_done ? {1'b1, 5'b0, WORD_BATCH, batch_count} : {1'b0, lane, word};
    wire [DEPTH_LOG:0] occupancy;

    assign word_ready = marks | (in_ready && !batch_done ? grant : '0);

    fifo #(.WIDTH(33), .DEPTH_LOG(DEPTH_LOG)) joined (
        .clk, .rst,
        .in_valid, .in_ready, .in_data,
        .out_valid, .out_ready, .out_data({out_last, out_data}),
        .occupancy
    );

    always_ff @(posedge clk) begin
        mark_seen <= mark_seen | marks;
        if (in_valid && in_ready) begin
            if (batch_done) begin
                mark_seen   <= '0;
                batch_count <= batch_count + 24'd1;
            end else begin
                above_last <= ~((grant - LANES'(1)) | grant);
            end
        end
        if (rst) begin
            mark_seen   <= '0;
            above_last  <= '1;
            batch_count <= '0;
        end
    end

    assign idle = mark_seen == '0 && occupancy == '0;

endmodule

`default_nettype wire
