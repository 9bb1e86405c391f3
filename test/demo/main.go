// Command demo shows the main job on this machine, without ROS: it plays the demo
// bag, records every topic of that, and holds the two bags against each other.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	original = "testdata/demo.bag"
	outDir   = "demo-out"
	programs = "bin/demo" // make demo builds them
	patience = 50 * time.Second
)

func main() {
	if err := demo(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := os.RemoveAll(outDir); err != nil {
		return err
	}
	if err := os.Mkdir(outDir, 0o750); err != nil {
		return err
	}
	copied := filepath.Join(outDir, "recorded.bag")
	if err := playAndRecord(ctx, copied); err != nil {
		return err
	}
	if err := sideBySide(ctx, original, copied); err != nil {
		return err
	}
	return compare(ctx, original, copied)
}

// playAndRecord records with a master of its own while the demo bag plays.
func playAndRecord(ctx context.Context, out string) error {
	addr, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	record := command(ctx, "gorecord", "-a", "-x", "/rosout", "--lz4", "-O", out, "--embedded-master="+addr) // both programs log there
	if err := record.Start(); err != nil {
		return err
	}
	if err := waitFor(ctx, addr); err != nil {
		return errors.Join(err, record.Wait())
	}
	play := command(ctx, "goplay", original, "--wait-for-subscribers", "__master:=http://"+addr)
	playErr := play.Run()
	if err := record.Process.Signal(syscall.SIGINT); err != nil {
		return errors.Join(playErr, err)
	}
	recordErr := record.Wait()
	if err := errors.Join(playErr, recordErr); err != nil {
		return fmt.Errorf("goplay: %w, gorecord: %w", orDone(playErr), orDone(recordErr))
	}
	return nil
}

func orDone(err error) error {
	if err == nil {
		return errors.New("done")
	}
	return err
}

// command runs one of our programs on the loopback interface, with its command line
// and its output shown.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	fmt.Printf("$ %s %s\n", name, strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, filepath.Join(programs, name), args...)
	cmd.Env = append(os.Environ(), "ROS_IP=127.0.0.1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// waitFor waits until something listens at addr.
func waitFor(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("no master at %s: %w", addr, err)
		}
	}
}

// sideBySide prints what gobag says of both bags in two columns.
func sideBySide(ctx context.Context, left, right string) error {
	var columns [2][]string
	for i, path := range []string{left, right} {
		cmd := exec.CommandContext(ctx, filepath.Join(programs, "gobag"), "info", path)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("gobag info %s: %w", path, err)
		}
		columns[i] = strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	}
	width := 0
	for _, line := range columns[0] {
		width = max(width, len(line))
	}
	fmt.Println()
	for i := range max(len(columns[0]), len(columns[1])) {
		fmt.Printf("%-*s | %s\n", width, at(columns[0], i), at(columns[1], i))
	}
	return nil
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// compare lets gobag compare the bags. It fails if they differ.
func compare(ctx context.Context, left, right string) error {
	fmt.Println()
	if err := command(ctx, "gobag", "diff", left, right).Run(); err != nil {
		return fmt.Errorf("the recording is not the demo bag: %w", err)
	}
	fmt.Println("Verdict: OK")
	return nil
}
