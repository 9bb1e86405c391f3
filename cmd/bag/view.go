package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/cutting"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/page"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/internal/view"
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
	j := job.New(ctx, out, job.Options{})
	viewer := view.New(func() (o view.Opening) {
		work, done, _ := j.Bar.Work()
		return view.Opening{Name: wording.Shown(work.Title), Done: done, Total: work.Total}
	})
	server, err := web.Serve(ctx, web.Options{
		Listen: f.HTTP, Token: f.Token, ViewToken: f.ViewToken, Hosts: f.Host, Node: titleOf(paths),
		Version: program.Version(), Log: zap.NewNop(),
	}, page.New(viewer))
	if err != nil {
		return err
	}
	defer server.Close() //nolint:contextcheck // it ends after ctx
	tell := sync.OnceFunc(func() {
		j.Bar.Hide()
		url := server.URL()
		_, _ = fmt.Fprintln(out.Stdout, url)
		if f.Open {
			if err := openBrowser(ctx, url); err != nil {
				out.Complain("no browser can be opened: %v; open %s yourself", err, url)
			}
		}
	})
	late := time.AfterFunc(openingLong, tell) // then the page shows how far the opening is
	in, err := j.OpenInputs(paths)
	if !late.Stop() {
		tell() // waits until it has been told
	}
	if err != nil {
		return err
	}
	defer in.Close()
	j.Bar.End()
	viewer.Show(in, cutting.Options(ctx, out, in))
	tell()
	<-ctx.Done()
	return j.Done()
}

// openingLong is how long the address waits for the bags: errors of opening come without one.
const openingLong = 500 * time.Millisecond

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
