package awsauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// ErrNone means that there are no credentials anywhere.
var ErrNone = errors.New("no credentials were found")

// renewBefore is how long before their end credentials are renewed.
const renewBefore = 5 * time.Minute

// Bounds of a program that prints credentials, and of those that it leaves behind.
const (
	processTimeout = time.Minute
	childrenDelay  = time.Second
)

// Provider finds credentials, and keeps them until they end. It is safe for concurrent use.
type Provider struct {
	Profile string // of the files of the AWS tools; empty for that of the environment
	Role    string // ARN of a role to take with the credentials; may be empty
	Region  string // of the service that gives out roles
	Client  *http.Client

	mu    sync.Mutex
	found Credentials
}

// Credentials returns credentials that are valid, if they can be found.
func (p *Provider) Credentials(ctx context.Context) (Credentials, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := time.Until(p.found.Expires)
	if p.found.Key != "" && (p.found.Expires.IsZero() || left > renewBefore) {
		return p.found, nil
	}
	c, err := p.find(ctx)
	if err != nil && p.found.Key != "" && left > 0 { // the next request tries again
		return p.found, nil
	}
	if err == nil {
		p.found = c
	}
	return c, err
}

// Forget has the next call look for credentials again, unless it has found others than these meanwhile.
// It reports whether that may help: credentials without an end stay what they are.
func (p *Provider) Forget(ended Credentials) bool {
	if ended.Expires.IsZero() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == ended {
		p.found = Credentials{}
	}
	return true
}

// find looks for credentials in the order in which the AWS tools do.
func (p *Provider) find(ctx context.Context) (Credentials, error) {
	c, err := p.base(ctx)
	if err == nil && p.Role != "" {
		return p.assume(ctx, c, Profile{"role_arn": p.Role})
	}
	return c, err
}

func (p *Provider) base(ctx context.Context) (Credentials, error) {
	if p.Profile == "" { // one that is named comes first
		if c := fromEnvironment(); c.Key != "" {
			return c, nil
		}
		if role := os.Getenv("AWS_ROLE_ARN"); role != "" && os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" {
			return p.assumeWithToken(ctx, Profile{
				"role_arn": role, "web_identity_token_file": os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"),
				"role_session_name": os.Getenv("AWS_ROLE_SESSION_NAME"),
			})
		}
	}
	all, err := readProfiles()
	if err != nil {
		return Credentials{}, err
	}
	section, err := all.named(p.Profile)
	if err != nil {
		return Credentials{}, err
	}
	if c, err := p.fromProfile(ctx, all, section, 0); err != nil || c.Key != "" {
		return c, err
	}
	return p.fromMachine(ctx)
}

// fromMachine asks the container or the machine that the program runs in.
func (p *Provider) fromMachine(ctx context.Context) (Credentials, error) {
	if c, err := p.fromContainer(ctx); err != nil || c.Key != "" {
		return c, err
	}
	return p.fromEC2(ctx)
}

func fromEnvironment() Credentials {
	return Credentials{
		Key:    cmp.Or(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_ACCESS_KEY")),
		Secret: cmp.Or(os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SECRET_KEY")),
		Token:  os.Getenv("AWS_SESSION_TOKEN"),
	}
}

// maxProfiles bounds a chain of profiles that refer to each other.
const maxProfiles = 10

// fromProfile returns the credentials that a profile has or names; none if it has none.
func (p *Provider) fromProfile(
	ctx context.Context, all profiles, section Profile, depth int,
) (Credentials, error) {
	keys := Credentials{
		Key: section["aws_access_key_id"], Secret: section["aws_secret_access_key"],
		Token: section["aws_session_token"],
	}
	role, source := section["role_arn"] != "", section["source_profile"]
	switch {
	case depth > maxProfiles:
		return Credentials{}, errors.New("profiles of the AWS tools refer to each other without end")
	case role && source != "":
		from, err := all.named(source)
		if err != nil {
			return Credentials{}, err
		}
		base := keys
		// not a profile that is its own source
		if own := from["aws_access_key_id"]; own == "" || own != keys.Key {
			if base, err = p.fromProfile(ctx, all, from, depth+1); err != nil {
				return Credentials{}, err
			}
		}
		return p.assume(ctx, base, section)
	case role && section["credential_source"] != "":
		base, err := p.fromSource(ctx, section["credential_source"])
		if err != nil {
			return Credentials{}, err
		}
		return p.assume(ctx, base, section)
	case role && section["web_identity_token_file"] != "":
		return p.assumeWithToken(ctx, section)
	case keys.Key != "":
		return keys, nil
	case section["sso_session"] != "" || section["sso_start_url"] != "":
		return Credentials{},
			errors.New("the profile is one of IAM Identity Center (SSO), which is not supported: give the profile " +
				"credential_process = aws configure export-credentials --profile NAME --format process")
	case section["credential_process"] != "":
		return fromProcess(ctx, section["credential_process"])
	}
	return Credentials{}, nil
}

// fromSource returns the credentials that credential_source of a profile names.
func (p *Provider) fromSource(ctx context.Context, source string) (Credentials, error) {
	switch source {
	case "Environment":
		return fromEnvironment(), nil
	case "EcsContainer":
		return p.fromContainer(ctx)
	case "Ec2InstanceMetadata":
		return p.fromEC2(ctx)
	}
	return Credentials{}, fmt.Errorf("credential_source %q of the profile is not known", source)
}

// answer is what a program, a container or a machine says.
type answer struct {
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string // of a program
	Token           string // of a container or a machine
	Expiration      time.Time
	Code            string // of a machine
	Message         string
}

// credentials checks an answer.
func (a *answer) credentials(of string) (Credentials, error) {
	if a.AccessKeyID == "" || a.SecretAccessKey == "" {
		return Credentials{}, fmt.Errorf("%s has no credentials %s %s", of, a.Code, a.Message)
	}
	return Credentials{a.AccessKeyID, a.SecretAccessKey, cmp.Or(a.SessionToken, a.Token), a.Expiration}, nil
}

// fromProcess runs a program of the user that prints credentials.
func fromProcess(ctx context.Context, line string) (Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, processTimeout)
	defer cancel()
	shell, flag := "sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd.exe", "/C"
	}
	cmd := exec.CommandContext(ctx, shell, flag, line) //nolint:gosec // the user's own files name it
	cmd.WaitDelay = childrenDelay
	out, err := cmd.Output()
	if err != nil {
		return Credentials{}, fmt.Errorf("credential_process of the profile: %w", err)
	}
	var a answer
	if json.Unmarshal(out, &a) != nil { // the error would show a part of it
		return Credentials{}, errors.New("credential_process of the profile prints no JSON")
	}
	return a.credentials("credential_process of the profile")
}
