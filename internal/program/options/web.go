package options

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/gorosbag/gorosbag/config"
)

// defaultHTTPAddress is where the bare option --http serves.
const defaultHTTPAddress = "127.0.0.1:8765"

// Web is what the options of the page, the metrics and the JSON interface set.
type Web struct {
	Listen string   // HOST:PORT to serve on; empty means not to serve
	Hosts  []string // accepted in requests beside those of this machine

	Origins []string // of pages of others that may open the live view

	ViewToken string // for requests that only look; empty if there is none

	token, tokenFile string // at most one is given
	fileToken        string // the text of tokenFile
}

// Token returns the token that requests need; empty if there is none.
func (w *Web) Token() string { return cmp.Or(w.token, w.fileToken) }

// Group returns the options, and what has to hold between them. checkToken and checkListen are those of the
// server.
func (w *Web) Group(checkToken func(token string) error,
	checkListen func(address string, hasToken bool) error,
) config.Group {
	rules := func() []config.Rule {
		// Here and not with the value: a file that another one takes the place of need not be there.
		wrong := config.Each([]string{"http-token-file"}, func(path string) (err error) {
			if w.fileToken, err = ReadToken(path); err == nil {
				err = checkToken(w.fileToken)
			}
			return err
		}, w.tokenFile)
		if len(wrong) > 0 {
			return wrong
		}
		return append(config.Each([]string{"http", "http-token", "http-token-file"},
			func(address string) error {
				return checkListen(address, w.Token() != "")
			}, w.Listen), config.Rule{
			Bad: w.token != "" && w.fileToken != "", Options: []string{"http-token", "http-token-file"},
			Reason: "there are two tokens: leave out --http-token or --http-token-file",
		}, config.Rule{
			Bad: w.ViewToken != "" && w.Token() == "", Options: []string{"http-view-token"},
			Reason: "--http-view-token needs another token that controls: give --http-token or --http-token-file, too",
		}, config.Rule{
			Bad: w.ViewToken != "" && w.Token() == w.ViewToken, Options: []string{"http-view-token"},
			Reason: "it is the token that controls, too: --http-view-token must differ from --http-token or the text of --http-token-file",
		})
	}
	return config.Group{Title: "Web page and metrics", Rules: rules, Options: []config.Option{
		{Name: "http", Arg: "HOST:PORT", Value: config.Address(&w.Listen, defaultHTTPAddress, true), Help: `
			Serve a web page, metrics for Prometheus, probes and a JSON interface on this address (default address ` + defaultHTTPAddress + `); off without this option. Addresses other than loopback need a token.`},
		{Name: "http-token", Arg: "TEXT", Secret: true, Value: config.Text(&w.token, checkToken), Help: `
			Require this token, of at least 16 characters. Every user of this machine can read a command line: use the variable or --http-token-file.`},
		{
			Name: "http-token-file", Arg: "FILE", Value: config.Text(&w.tokenFile),
			Help: `Read the token from this file.`,
		},
		{Name: "http-view-token", Arg: "TEXT", Secret: true, Value: config.Text(&w.ViewToken, checkToken), Help: `
			Whoever has this token, of at least 16 characters, sees everything and controls nothing. It needs another token that controls.`},
		{Name: "http-host", Arg: "NAME", Value: config.Texts(&w.Hosts, UnlessEmpty(checkHostName)), Help: `
			Accept requests for the host NAME, too, besides localhost, addresses, the name of this machine and its name in the ROS graph. May be given
			several times.`},
		{Name: "http-origin", Arg: "ORIGIN", Value: config.Texts(&w.Origins, UnlessEmpty(checkOrigin)), Help: `
			Let pages of these origins, such as https://viewer.example.org, open the live view, too, besides the pages of this server, the Foxglove
			application and desktop applications. May be given several times.`},
	}}
}

// maxTokenBytes is the limit of the size of a token file.
const maxTokenBytes = 4 << 10

// ReadToken returns the token in a file.
func ReadToken(path string) (string, error) {
	f, err := os.Open(path) //nolint:gosec // the user names it
	var bad *fs.PathError
	if errors.As(err, &bad) {
		return "", fmt.Errorf("%w: want a file with the token, which this user may read", bad.Err)
	}
	defer f.Close() //nolint:errcheck // only read from
	b, err := io.ReadAll(io.LimitReader(f, maxTokenBytes+1))
	token := strings.TrimSpace(string(b))
	switch {
	case err != nil:
		return "", err
	case len(b) > maxTokenBytes:
		return "", fmt.Errorf("longer than %d bytes: want a file with a token only", maxTokenBytes)
	case token == "":
		return "", errors.New("the file is empty: want a token")
	}
	return token, nil
}

// checkHostName refuses what is no name of a machine.
func checkHostName(name string) error {
	if strings.ContainsAny(name, "/:@?# \t") {
		return errors.New("want a name alone, such as robot7.local, without http:// and without a port")
	}
	return nil
}

// checkOrigin refuses what no browser sends as the origin of a page that can be named.
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host ||
		strings.Contains(u.Host, "*") {
		return errors.New("want the start of a page's address, with http:// or https:// and without a path, such as https://viewer.example.org or http://10.0.0.5:8080")
	}
	return nil
}
