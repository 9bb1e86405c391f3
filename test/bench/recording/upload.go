//go:build linux

package recording

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/figures"
	"github.com/gorosbag/gorosbag/test/bench/station"
	"github.com/gorosbag/gorosbag/test/load"
)

// What a recording with uploads is asked for.
const (
	uploadMessage  = 500_000
	uploadSeconds  = 15
	uploadMost     = 20 * time.Millisecond // p99 of what a message waits longer until it is read
	storeUser      = "bench"
	storePassword  = "bench-secret"
	storeDirectory = "store"
)

// uploaded records 50 MB/s into files of 50 MB without and with uploads of them to a
// server on this machine, in turn. The server and the checksums share its processors
// and its disk with the recording, so it is a harder case than a network.
func uploaded(ctx context.Context, b *station.Bench, t *figures.Table) error {
	const target = "0 lost"
	if _, err := os.Stat(b.S3); errors.Is(err, fs.ErrNotExist) {
		t.Skip(target, b.S3+" is not installed: make tools")
		return nil
	}
	var alone, beside []uploadResult
	for range b.Rounds {
		r, err := recordSplits(ctx, b, false)
		if err != nil {
			return err
		}
		alone = append(alone, r)
		if r, err = recordSplits(ctx, b, true); err != nil {
			return err
		}
		beside = append(beside, r)
	}
	cpu := func(r uploadResult) float64 { return r.CPU.Seconds() }
	t.Target(figures.Most(beside, uploadResult.lost) == 0, target, "%d of %d (%d without)", figures.Most(beside, uploadResult.lost), beside[0].sent, figures.Most(alone, uploadResult.lost))
	waits := func(r uploadResult) float64 { return float64(r.p99()) }
	with, without := time.Duration(figures.Median(beside, waits)), time.Duration(figures.Median(alone, waits))
	t.Target(with <= without+uploadMost, fmt.Sprintf("read at most %v later (p99)", uploadMost), "%v (%v without), at most %v (%v)",
		short(with), short(without), short(figures.Most(beside, uploadResult.worst)), short(figures.Most(alone, uploadResult.worst)))
	t.Note("%.2f s of processor (%.2f without), %d MB uploaded meanwhile, memory %d MiB (%d)",
		figures.Median(beside, cpu), figures.Median(alone, cpu), beside[0].stored>>20, figures.Most(beside, uploadResult.peak)>>20, figures.Most(alone, uploadResult.peak)>>20)
	return nil
}

// uploadResult is what came of one recording.
type uploadResult struct {
	result
	waited []time.Duration // of each message until the recorder had read it, sorted
	stored int64           // bytes of finished objects when the last message was sent
}

func (r uploadResult) p99() time.Duration { return r.waited[len(r.waited)*99/100] }

func (r uploadResult) worst() time.Duration { return r.waited[len(r.waited)-1] }

func recordSplits(ctx context.Context, b *station.Bench, upload bool) (res uploadResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	const period = uploadMessage * time.Second / splitRate
	r, err := prepare(ctx, b, []stream{{
		topic: "/load", size: uploadMessage, count: int(uploadSeconds * time.Second / period), period: period,
		each: func(l *load.Link, due time.Time) error {
			err := waitRead(ctx, l)
			res.waited = append(res.waited, time.Since(due))
			return err
		},
	}})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, r.Remove()) }()
	args := []string{"--overflow=block", "--split", "--size=50", "-O", "load.bag", "/load"}
	dir := filepath.Join(r.Dir, storeDirectory)
	if upload {
		s3, err := serveS3(ctx, b, dir)
		if err != nil {
			return res, err
		}
		defer s3.end()
		r.Env = []string{"AWS_ACCESS_KEY_ID=" + storeUser, "AWS_SECRET_ACCESS_KEY=" + storePassword}
		args = append(args, "--upload="+s3.url, "--upload-wait=0s")
	}
	if err := r.Start(ctx, append([]string{b.Gorecord}, args...)...); err != nil {
		return res, err
	}
	if err := r.flow.send(ctx); err != nil {
		return res, fmt.Errorf("%w\n%s", err, r.Out.String())
	}
	res.sent, res.stored = r.flow.sent[0], bytesOf(dir)
	if res.Usage, err = r.End(syscall.SIGINT); err != nil {
		return res, err
	}
	if upload && res.stored == 0 {
		return res, fmt.Errorf("nothing was uploaded meanwhile\n%s", r.Out.String())
	}
	if err := os.RemoveAll(dir); err != nil { // its bags are not those that count
		return res, err
	}
	counts, err := r.count()
	res.recorded = counts["/load"]
	slices.Sort(res.waited)
	return res, err
}

// s3 is an S3 server at work.
type s3 struct {
	cmd *exec.Cmd
	url string // of a bucket
}

func serveS3(ctx context.Context, b *station.Bench, dir string) (*s3, error) {
	if err := os.MkdirAll(filepath.Join(dir, "bags"), 0o700); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	s := &s3{exec.CommandContext(ctx, b.S3, "--port", address, "--access", storeUser, "--secret", storePassword, "--quiet", "posix", dir), "s3://bags/robot?endpoint=http://" + address}
	return s, s.cmd.Start()
}

// end ends the server.
func (s *s3) end() {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()         // an exit code that says so
}

// bytesOf returns how long the bags below a directory are.
func bytesOf(dir string) (n int64) {
	bags, _ := filepath.Glob(filepath.Join(dir, "bags", "robot", "*.bag")) // the pattern is good
	for _, bag := range bags {
		if st, err := os.Stat(bag); err == nil {
			n += st.Size()
		}
	}
	return n
}
