export const HELP_TEXT = `chat: a conversation with an agent that cannot be lost

  chat                         a new conversation
  chat "text"                  a new conversation that starts with this message
  chat -r, --resume [ID]       the most recently updated conversation, or this one
                               (id, name, or the beginning of the id)
  chat -c, --continue          the most recently updated one; a message may follow
  chat -p, --print ["text"]    no terminal: one turn, the answer on stdout, all else
                               on stderr; a piped stdin is the message, or follows it;
                               with -c or -r it goes on with that conversation
  chat --fork ID               a copy of this one; also with -r and -c; the original may
                               be open elsewhere
  chat list [--json]           the conversations, most recently updated first
  chat show ID [--json]        one of them, readably; --follow goes on while another
                               process writes to it
  chat rename ID TEXT          give it a name
  chat delete ID... [--yes]    delete; asks first
  chat doctor [ID] [--json]    check the files of all or one; --repair mends them

Options
  -m, --model PROVIDER/NAME    anthropic, openai, google, ollama, compatible, offline
      --base-url URL           where the provider's API is
  -n, --name TEXT              name the new conversation
      --system TEXT|@FILE      another system prompt
      --store DIR              where the conversations are
      --cwd DIR                where the tools work
      --output-format FORMAT   with -p: text (default), json, stream-json
      --wait                   with -c, -r: do not go on with a cut-off turn by itself
      --no-lock                where the disk knows no locks: nothing keeps a second
                               process from writing to the same conversation
      --version, -h, --help
      --                       ends the options: chat -- "-1 or +1?"

What may run without asking (reading inside the working folder always may)
      --yes                    everything
      --allow A,B              these tools (bash, read, write, edit, list, search)
      --deny A,B               these never
      --read-only              only what changes nothing
      --no-tools               nothing

Environment
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY
                               the providers' keys; one key is used without asking
  CHAT_MODEL                   the model when -m is not given
  CHAT_HOME                    one folder for everything (default: the XDG folders)
  ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL, OLLAMA_HOST
                               as --base-url

Exit codes
  0 done   1 failed   2 wrong usage   75 try again (open elsewhere, rate limit, no answer)
  129, 130, 143 ended by SIGHUP, Ctrl+C, SIGTERM

In the conversation :help shows the commands.
`;
