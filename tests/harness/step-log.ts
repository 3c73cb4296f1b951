// Collects the log of one stage of a step: lines, masked secrets, annotations.
import { StringDecoder } from 'node:string_decoder'
import { parseCommand, type WorkflowCommand } from './workflow-commands.ts'

export interface StepLog {
  /** As the run's page would show it, with secrets masked. */
  lines: string[]
  commands: WorkflowCommand[]
  masks: string[]
}

export function openStepLog(onLine: () => void): { log: StepLog; reader: () => StreamReader } {
  const log: StepLog = { lines: [], commands: [], masks: [] }
  let resumeToken: string | null = null

  function take(line: string): void {
    const command = parseCommand(line, resumeToken)
    if (command && (resumeToken === null || command.name === resumeToken.toLowerCase())) {
      if (command.name === 'stop-commands') resumeToken = command.data
      else if (resumeToken !== null) resumeToken = null
      else log.commands.push(command)
      if (command.name === 'add-mask') log.masks.push(command.data)
    }
    const visible = command?.name === 'add-mask' ? '::add-mask::***' : line
    log.lines.push(log.masks.reduce((text, secret) => text.replaceAll(secret, '***'), visible))
    onLine()
  }

  return { log, reader: () => lineReader(take) }
}

export interface StreamReader {
  write(chunk: Buffer): void
  end(): void
}

/** A lone carriage return ends a line too, so a progress bar can start a command. */
function lineReader(take: (line: string) => void): StreamReader {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  return {
    write(chunk) {
      rest += decoder.write(chunk)
      // A '\r' at the end waits: the next chunk may begin with its '\n'.
      const lines = rest.split(/\r\n|\n|\r(?=[\s\S])/)
      rest = lines.pop() ?? ''
      lines.forEach(take)
    },
    end() {
      const last = (rest + decoder.end()).replace(/\r$/, '')
      if (last !== '') take(last)
    },
  }
}
