package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/page"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/internal/view"
	"github.com/gorosbag/gorosbag/rosbag"
)

type viewFlags struct {
	Open      bool     `short:"o" help:"Open the page in the browser of this machine."`
	HTTP      string   `name:"http" default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Serve the page on this address (${default}: a free port). Addresses other than loopback need a token."`
	Token     string   `name:"http-token" env:"GOBAG_HTTP_TOKEN" placeholder:"TEXT" help:"Require this token, of at least 16 characters. Every user of this machine can read a command line: use the variable $$GOBAG_HTTP_TOKEN or --http-token-file."`
	TokenFile string   `name:"http-token-file" placeholder:"FILE" completion-predictor:"file" help:"Read the token from this file."`
	ViewToken string   `name:"http-view-token" env:"GOBAG_HTTP_VIEW_TOKEN" placeholder:"TEXT" help:"Whoever has this token sees everything and writes nothing. It needs another token."`
	Host      []string `name:"http-host" sep:"none" placeholder:"NAME" help:"Accept requests for the host NAME, too, besides localhost, addresses and the name of this machine. May be repeated."`
	Bags      []string `arg:"" name:"bag" completion-predictor:"bag" help:"Bags of any version, MCAP files, recordings of ROS 2; directories, and URLs that end with a slash, stand for the bags in them. Several are one time line."`
}

// Help is the long help.
func (viewFlags) Help() string {
	return `Shows bags in a browser: which topics there are and where they fall silent, pictures,
plots, single messages, and more. It reads what the page asks for, so that a large bag is
there at once. It needs neither ROS nor the internet.

  gobag view run.bag --open
  gobag view /data/today
  gobag view before.bag after.bag         one time line; the page compares them, too
  gobag view run.bag --http 0.0.0.0:8765 --http-token-file token   for a phone

It ends with Ctrl-C. A part can be cut from the page, as gobag filter does.`
}

// Run serves the page until ctx ends.
func (f *viewFlags) Run(ctx context.Context, out job.Output) error {
	if f.TokenFile != "" {
		if f.Token != "" {
			return errors.New("there are two tokens: leave out --http-token or --http-token-file")
		}
		var err error
		if f.Token, err = options.ReadToken(f.TokenFile); err != nil {
			return fmt.Errorf("--http-token-file %s: %w", f.TokenFile, err)
		}
	}
	paths, err := bags.Names(ctx, f.Bags)
	if err != nil {
		return err
	}
	if slices.Contains(paths, "-") {
		return errors.New("a pipe cannot be viewed: it can be read once only; copy the bag to a file")
	}
	j := job.New(ctx, out, job.Options{Quiet: true})
	in, err := j.OpenInputs(paths)
	if err != nil {
		return err
	}
	defer in.Close()
	cutter := &cutter{ctx: ctx, out: out, all: in}
	o := view.Options{Copy: cutter.copy}
	if cutter.writable() {
		o.Save = cutter.save
	}
	server, err := web.Serve(ctx, web.Options{
		Listen: f.HTTP, Token: f.Token, ViewToken: f.ViewToken, Hosts: f.Host, Node: titleOf(paths), Version: program.Version(), Log: zap.NewNop(),
	}, page.New(view.New(in, o)))
	if err != nil {
		return err
	}
	defer server.Close() //nolint:contextcheck // it ends after ctx
	url := "http://" + server.Addr().String() + "/"
	_, _ = fmt.Fprintln(out.Stdout, url)
	if f.Open {
		if err := openBrowser(ctx, url); err != nil {
			out.Complain("no browser can be opened: %v; open %s yourself", err, url)
		}
	}
	<-ctx.Done()
	return j.Done()
}

// titleOf names what is viewed.
func titleOf(paths []string) string {
	if len(paths) == 1 {
		return filepath.Base(store.Redact(paths[0]))
	}
	return wording.Plural(len(paths), "bag")
}

// openBrowser opens a page in the browser of the desktop.
func openBrowser(ctx context.Context, url string) error {
	command := []string{"xdg-open", url}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open", url}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", url}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, command[0], command[1:]...).Run() //nolint:gosec // the programs of three systems
}

// cutter copies parts of bags, as gobag filter does.
type cutter struct {
	ctx context.Context //nolint:containedctx // of the command, whose end ends the writing of a file
	out job.Output
	all job.Inputs
}

// plan returns the inputs of a cut, and what is copied of them.
func (c *cutter) plan(cut view.Cut) (job.Inputs, rewrite.Options) {
	return cut.Files, rewrite.Options{Start: cut.Start, End: cut.End, Keep: cut.Keep, Latched: true}
}

// copy writes a cut as a bag.
func (c *cutter) copy(ctx context.Context, w io.Writer, cut view.Cut) error {
	in, o := c.plan(cut)
	sink, err := job.Packing{ChunkSize: defaultChunkSize}.Sink(in, false)(w)
	if err != nil {
		return err
	}
	o.Workers = job.Workers()
	o.Damaged = func(string, error) error { return ctx.Err() } // the page lists what is damaged
	o.Match = func(*rosbag.Connection, *rosbag.Message) (bool, error) { return true, ctx.Err() }
	var list []rewrite.Input
	for _, f := range in {
		list = append(list, rewrite.Input{Name: f.Name, Source: f.Source})
	}
	_, err = rewrite.Copy(list, o, sink)
	return err
}

// defaultChunkSize is that of all commands, in KiB.
const defaultChunkSize = chunk.DefaultBytes >> 10

// folder returns where cuts are written: beside the first bag. It is empty for bags in stores.
func (c *cutter) folder() string {
	if name := c.all[0].Name; !store.IsURL(name) {
		return filepath.Dir(name)
	}
	return ""
}

// writable reports whether cuts can be written.
func (c *cutter) writable() bool {
	dir := c.folder()
	if dir == "" {
		return false
	}
	f, err := os.CreateTemp(dir, ".gobag-view-*")
	if err != nil {
		return false
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) == nil
}

// save writes a cut to a new file.
func (c *cutter) save(_ context.Context, cut view.Cut) (string, error) {
	in, o := c.plan(cut)
	path, err := c.freeName(cut)
	if err != nil {
		return "", err
	}
	var said strings.Builder
	out := c.out
	errs := *out.Errs
	errs.W, out.Stderr, out.Errs = &said, &said, &errs
	_, err = job.New(c.ctx, out, job.Options{Quiet: true}).Rewrite(job.Plan{ //nolint:contextcheck // who leaves the page still gets the file
		Inputs: in, Out: path, Sink: job.Packing{ChunkSize: defaultChunkSize}.Sink(in, false), Options: o,
	})
	if err != nil && !errors.Is(err, job.ErrLossy) {
		if text := strings.TrimSpace(said.String()); text != "" {
			return "", errors.New(text)
		}
		return "", err
	}
	return path, nil
}

// freeName returns a path that no file has.
func (c *cutter) freeName(cut view.Cut) (string, error) {
	from := cut.Start.Sub(c.all[0].Source.Info().Start).Seconds()
	stem := fmt.Sprintf("%s_%.0fs", bags.Stem(filepath.Base(cut.Files[0].Name)), max(from, 0))
	for n := 1; n < 1000; n++ {
		name := stem + ".bag"
		if n > 1 {
			name = fmt.Sprintf("%s-%d.bag", stem, n)
		}
		path := filepath.Join(c.folder(), name)
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return path, nil
		}
	}
	return "", errors.New("too many files have names of cuts; move some")
}
