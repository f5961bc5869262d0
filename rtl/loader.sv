// Writes an image into the tables of all lanes, and reads entries back for the registers.
//
//   packet of 64-bit words  -->  { select, address, data }  -->  table_write       one entry per cycle, latency 1
//
// A load is granted only while nothing else is under way, and ends with its packet; a read likewise. What is asked for
// while busy is refused: `refused` is high for a cycle.

`default_nettype none

module loader #(
    parameter int LANES = 1
) (
    input  wire               clk,
    input  wire               rst,
    output wire               idle,
    input  wire               others_idle,   // Nothing is under way outside of this block.
    output logic              refused,

    // The bit in the register stays until it is cleared.
    input  wire               load,
    output logic              load_clear,
    output logic              load_start,
    output logic              loading,

    input  wire               in_valid,
    output wire               in_ready,
    input  wire  [63:0]       in_data,
    input  wire               in_last,

    // A reading: from `read_start` on, `answer_valid` is low until the entry is there.
    input  wire               read_start,
    input  wire  [7:0]        read_lane,
    input  wire  [3:0]        read_select,
    input  wire  [19:0]       read_address,
    output logic              answer_valid,
    output logic [39:0]       answer,

    output logic              table_write,
    output logic [LANES-1:0]  table_read,
    output logic [3:0]        table_select,
    output logic [19:0]       table_address,
    output logic [39:0]       table_data,
    input  wire  [39:0]       table_answer
);

    localparam int LATENCY = 8;              // Cycles from `table_read` in which a table has answered, once, zeros around it.

    logic [LATENCY:0] reading;               // A one that moves up while a read is under way.
    logic             reads;                 // The same, a cycle later.
    logic             ended;                 // The bit was told to be cleared; it takes some cycles.

    assign in_ready = loading;
    assign idle     = !loading && !load && !table_write && reading == '0;

    always_ff @(posedge clk) begin
        refused     <= 1'b0;
        load_clear  <= 1'b0;
        load_start  <= 1'b0;
        table_write <= 1'b0;
        table_read  <= '0;
        reading     <= reading << 1;
        if (!load) ended <= 1'b0;

        // Where they go is of no account while nothing is written or read.
        table_select  <= loading ? in_data[63:60] : read_select;
        table_address <= loading ? in_data[59:40] : read_address;
        table_data    <= in_data[39:0];

        if (loading) begin
            table_write <= in_valid;
            if (in_valid && in_last) begin
                loading    <= 1'b0;
                load_clear <= 1'b1;
                ended      <= 1'b1;
            end
        end else if (load && !ended) begin
            if (others_idle && !table_write && reading == '0) begin
                loading    <= 1'b1;
                load_start <= 1'b1;
            end else begin
                load_clear <= 1'b1;
                ended      <= 1'b1;
                refused    <= 1'b1;
            end
        end

        reads <= reading != '0;
        if (reading[0])  answer <= '0;
        else if (reads)  answer <= answer | table_answer;
        if (reading[LATENCY]) answer_valid <= 1'b1;
        if (read_start) begin
            answer_valid <= 1'b0;
            if (idle && others_idle) begin
                for (int l = 0; l < LANES; l++) table_read[l] <= read_lane == 8'(l);
                reading <= (LATENCY + 1)'(1'b1);
            end else begin
                refused <= 1'b1;
            end
        end

        if (rst) begin
            refused      <= 1'b0;
            load_clear   <= load;
            ended        <= 1'b0;
            load_start   <= 1'b0;
            loading      <= 1'b0;
            table_write  <= 1'b0;
            table_read   <= '0;
            reading      <= '0;
            reads        <= 1'b0;
            answer       <= '0;
            answer_valid <= 1'b0;
        end
    end

endmodule

`default_nettype wire
