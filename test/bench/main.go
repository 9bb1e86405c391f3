// Command bench records the same load with stock rosbag and with gorecord, in turn,
// and prints both with their ratio. These machines are noisy: the ratio within one
// run means something, the bare numbers do not.
package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros/master"
	"github.com/gorosbag/gorosbag/test/load"
)

const stock = "/usr/lib/rosbag/record"

// scenario is one row.
type scenario struct {
	name        string
	size, count int
	args        []string // of both recorders
}

var scenarios = []scenario{
	{"1 MB messages", 1 << 20, 1500, []string{"-b", "0"}},
	{"1 MB messages, lz4", 1 << 20, 1000, []string{"-b", "0", "--lz4"}},
	{"100 B messages", 100, 1_000_000, []string{"-b", "0"}},
}

func main() {
	rounds := flag.Int("n", 3, "rounds of each row")
	only := flag.String("only", "", "rows whose name contains this")
	parent := flag.String("dir", "", "write the bags here (default: the temporary directory)")
	flag.Parse()
	if err := run(*rounds, *only, *parent); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(rounds int, only, parent string) error {
	dir, err := os.MkdirTemp(parent, "gorosbag-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover in the temporary directory
	_, err = os.Stat(stock)
	haveStock := err == nil
	if !haveStock {
		fmt.Printf("%s is not installed: ours alone\n", stock)
	}
	fmt.Printf("%-22s %14s %10s %14s %10s %7s\n", "load (median of "+fmt.Sprint(rounds)+")", "gorecord MB/s", "most lost", "rosbag MB/s", "most lost", "ratio")
	for _, s := range scenarios {
		if !strings.Contains(s.name, only) {
			continue
		}
		if err := row(dir, s, rounds, haveStock); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// row measures one scenario, ours and stock in turn.
func row(dir string, s scenario, rounds int, haveStock bool) error {
	var ours, theirs []result
	for range rounds {
		r, err := measure(dir, "bin/gorecord", append([]string{"--overflow=block"}, s.args...), s)
		if err != nil {
			return err
		}
		ours = append(ours, r)
		if !haveStock {
			continue
		}
		if r, err = measure(dir, stock, s.args, s); err != nil {
			return err
		}
		theirs = append(theirs, r)
	}
	a := median(ours)
	fmt.Printf("%-22s %14.1f %10d", s.name, a.rate(), s.count-fewest(ours))
	if haveStock {
		b := median(theirs)
		fmt.Printf(" %14.1f %10d %6.1fx", b.rate(), s.count-fewest(theirs), a.rate()/b.rate())
	}
	fmt.Println()
	return nil
}

// result is what one recorder made of one flood.
type result struct {
	messages int   // distinct ones in the bag
	bytes    int64 // of their payload
	took     time.Duration
}

// rate is what got into the bag, from the first byte sent until the bag was closed.
func (r result) rate() float64 { return float64(r.bytes) / 1e6 / r.took.Seconds() }

func median(all []result) result {
	slices.SortFunc(all, func(a, b result) int { return cmp.Compare(a.rate(), b.rate()) })
	return all[len(all)/2]
}

// fewest returns the messages of the worst round.
func fewest(all []result) int {
	return slices.MinFunc(all, func(a, b result) int { return cmp.Compare(a.messages, b.messages) }).messages
}

func measure(dir, program string, args []string, s scenario) (result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	m, err := master.New(ctx, master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		return result{}, err
	}
	defer m.Close() //nolint:errcheck // nothing to lose
	p, err := load.Advertise(ctx, m.Addr().String(), "/flood", "/flood")
	if err != nil {
		return result{}, err
	}
	defer p.Close() //nolint:errcheck // nothing to lose
	bag := filepath.Join(dir, "bench.bag")
	defer os.Remove(bag) //nolint:errcheck // the next run would tell
	cmd := exec.CommandContext(ctx, program, append(args, "-O", bag, "/flood")...)
	cmd.Env = append(os.Environ(), "ROS_MASTER_URI="+m.URI(), "ROS_IP=127.0.0.1", "ROS_LOG_DIR="+dir)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	flooded, err := p.Flood(ctx, s.size, s.count)
	if err != nil {
		return result{}, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	start := time.Now().Add(-flooded)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		return result{}, err
	}
	if err := cmd.Wait(); err != nil {
		return result{}, fmt.Errorf("%s: %w", program, err)
	}
	took := time.Since(start)
	n, err := count(bag)
	return result{messages: n, bytes: int64(n) * int64(s.size), took: took}, err
}

// count returns how many different messages the bag holds.
func count(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // read only
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	r, err := bagfmt.NewReader(f, st.Size(), bagfmt.ReaderOptions{})
	if err != nil {
		return 0, err
	}
	seen := map[uint32]bool{}
	for m, err := range r.All(bagfmt.Query{}) {
		if err != nil {
			return 0, err
		}
		seen[binary.LittleEndian.Uint32(m.Data()[4:])] = true
	}
	return len(seen), nil
}
