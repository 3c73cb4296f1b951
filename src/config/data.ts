// The section `data:`: files and folders whose content Speedproof hashes before the first and after the last launch.
import { z } from 'zod'

export const dataSection = z
  .array(z.string().min(1))
  .min(1)
  .describe(
    'Files and folders that the trainings read, relative to the working directory. Speedproof hashes them before the first and after the last launch: data that changed makes the verdict invalid.',
  )
